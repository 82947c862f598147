// %%{about}
module %%{module} (
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
%%{body}
%%{vote}
endmodule
