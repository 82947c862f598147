    // A feature as the networks see it.
    function [%%{value_top}:0] number;
        input [%%{in_top}:0] x;
        number = %%{value};
    endfunction
