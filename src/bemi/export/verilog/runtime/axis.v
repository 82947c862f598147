// AXI-Stream around %%{module}.  A packet is a row, whose beats are what in_data takes, in the lowest bits of tdata.
// For each packet there is one of one beat: the label, and in tuser whether the row is unclassified (bit 0), and whether
// its packet had too few or too many beats (bit 1); its label then means nothing.
module %%{axis} (
    input wire aclk,
    input wire aresetn,
    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [%%{from_top}:0] s_axis_tdata,
    input wire s_axis_tlast,
    output wire m_axis_tvalid,
    input wire m_axis_tready,
    output wire [%%{to_top}:0] m_axis_tdata,
    output wire [1:0] m_axis_tuser,
    output wire m_axis_tlast
);
    // Beats that a packet lacks are filled in, those that it has too many are dropped.
    reg [%%{beat_top}:0] beat;
    reg filling, dropping;
    wire final_beat = beat == %%{final_beat};
    wire in_ready;
    wire in_valid = !dropping && (filling || s_axis_tvalid);
    wire taken = in_valid && in_ready;
    assign s_axis_tready = dropping || (in_ready && !filling);
    always @(posedge aclk)
        if (!aresetn) begin
            beat <= %%{no_beat};
            filling <= 1'b0;
            dropping <= 1'b0;
        end else if (dropping)
            dropping <= !(s_axis_tvalid && s_axis_tlast);
        else if (taken) begin
            beat <= final_beat ? %%{no_beat} : beat + %%{one_beat};
            filling <= !final_beat && (filling || s_axis_tlast);
            dropping <= final_beat && !filling && !s_axis_tlast;
        end

    // Whether the packets of the rows that are on their way had the wrong length; no more than %%{rows} are.
    reg [%%{marks_top}:0] wrong;
    reg [%%{mark_top}:0] newest, oldest;
    always @(posedge aclk)
        if (!aresetn) begin
            newest <= %%{no_mark};
            oldest <= %%{no_mark};
        end else begin
            if (taken && final_beat) begin
                wrong[newest] <= filling || !s_axis_tlast;
                newest <= newest + %%{one_mark};
            end
            if (m_axis_tvalid && m_axis_tready)
                oldest <= oldest + %%{one_mark};
        end

    wire [%%{label_top}:0] label;
    wire unclassified;
    wire unused = &{1'b0, s_axis_tdata};
    assign m_axis_tdata = %%{label};
    assign m_axis_tuser = {wrong[oldest], unclassified};
    assign m_axis_tlast = 1'b1;
    %%{module} model (
        .clk(aclk), .reset(!aresetn), .in_valid(in_valid), .in_ready(in_ready), .in_data(s_axis_tdata[%%{in_top}:0]),
        .out_valid(m_axis_tvalid), .out_ready(m_axis_tready), .out_label(label), .out_unclassified(unclassified)
    );
endmodule
