    // A row moves through the pipeline unless its votes have to wait at the end.
    reg [%%{depth}:0] filled;
    wire complete = filled[%%{depth}];
    wire vote_ready;
    wire advance = !complete || vote_ready;
    reg [%%{in_top}:0] row;
    assign in_ready = advance;
    always @(posedge clk)
        if (reset)
            filled <= %%{empty};
        else if (advance)
            filled <= %%{next_filled};
    always @(posedge clk)
        if (advance)
            row <= in_data;
%%{sums}
