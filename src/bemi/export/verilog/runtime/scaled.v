    // A feature as the networks see it: subtract a centre, multiply, round, shift, saturate.
    function [%%{value_top}:0] number;
        input [%%{in_top}:0] x;
        input [%%{centre_top}:0] centre;
        input [%%{multiplier_top}:0] multiplier;
        reg signed [%%{wide_top}:0] wide;
        begin
            wide = (%%{x} - %%{centre}) * %%{multiplier} + %%{half};
            wide = wide >>> %%{shift};
            number = %%{value};
        end
    endfunction
