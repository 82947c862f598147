    // A feature as the networks see it: multiply, add, shift, saturate.  Readings are counted from the smallest one.
    function [%%{value_top}:0] number;
        input [%%{in_top}:0] x;
        input [%%{multiplier_top}:0] multiplier;
        input [%%{wide_top}:0] offset;
        reg signed [%%{wide_top}:0] wide;
        begin
            wide = %%{x} * %%{multiplier} + offset;
            wide = wide >>> %%{shift};
            number = %%{value};
        end
    endfunction
