    reg complete;
    wire vote_ready;
    reg [%%{in_top}:0] row;
    assign in_ready = !complete || vote_ready;
    always @(posedge clk)
        if (reset)
            complete <= 1'b0;
        else if (in_ready) begin
            complete <= in_valid;
            row <= in_data;
        end
%%{terms}
%%{sums}
