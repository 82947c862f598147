    // A feature as the networks see it: it saturates.
    function [%%{value_top}:0] number;
        input [%%{in_top}:0] x;
        reg [%%{wide_top}:0] wide;
        begin
            wide = %%{wide};
            number = %%{value};
        end
    endfunction
