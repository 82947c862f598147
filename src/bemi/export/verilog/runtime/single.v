    // One network decides.
    wire [%%{signs_top}:0] signs = %%{positive};
%%{upper}%%{unused}
    wire [%%{vote_top}:0] cast = %%{votes};
    assign vote_ready = !out_valid || out_ready;
    assign out_unclassified = 1'b0;
    wire unused_vote = &{1'b0, cast};
    always @(posedge clk)
        if (reset)
            out_valid <= 1'b0;
        else if (vote_ready) begin
            out_valid <= complete;
            out_label <= cast[%%{label_top}:0];
        end