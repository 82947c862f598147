// Takes a whole row at once, computes the sums of all networks from it, and lets them vote.
module bemi_model (
    input wire clk,
    input wire reset,
    input wire in_valid,
    output wire in_ready,
    input wire [%%{in_top}:0] in_data,
    output reg out_valid,
    input wire out_ready,
    output reg [%%{label_top}:0] out_label,
    output %%{unclassified_kind} out_unclassified
);
%%{functions}
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

%%{vote}
endmodule
