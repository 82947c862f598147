// Feeds the rows of inputs.txt to %%{axis}, and so to %%{module}, and compares its labels with labels.txt, which Python wrote.
// With +gaps, both sides of the circuit pause now and then.
module test_bench;
    localparam ROWS = %%{rows}, WORDS = %%{words}, FEATURES = %%{features}, WIDTH = %%{width};
    reg clk = 1'b0, reset = 1'b1, gaps = 1'b0;
    always #5 clk = ~clk;

    reg in_valid = 1'b0, in_last = 1'b0, out_ready = 1'b1;
    reg [%%{from_top}:0] in_data;
    wire in_ready, out_valid, out_last;
    wire [%%{to_top}:0] out_label;
    wire [1:0] out_user;
    %%{axis} circuit (
        .aclk(clk), .aresetn(!reset), .s_axis_tvalid(in_valid), .s_axis_tready(in_ready), .s_axis_tdata(in_data),
        .s_axis_tlast(in_last), .m_axis_tvalid(out_valid), .m_axis_tready(out_ready), .m_axis_tdata(out_label),
        .m_axis_tuser(out_user), .m_axis_tlast(out_last)
    );

    integer inputs, labels, status, value, place, wanted, given;
    integer sent = 0, received = 0, differences = 0, cycles = 0, first = 0, fewest = 0, most = 0;
    reg [%%{from_top}:0] word = 0;
    reg [15:0] noise = 16'hace1;

    initial begin
        inputs = $fopen("inputs.txt", "r");
        labels = $fopen("labels.txt", "r");
        if (inputs == 0 || labels == 0) begin
            $display("inputs.txt or labels.txt is missing");
            $finish;
        end
        if ($test$plusargs("gaps"))
            gaps = 1'b1;
        #22 reset = 1'b0;
    end

    always @(posedge clk) begin
        noise <= {noise[14:0], noise[15] ^ noise[13] ^ noise[12] ^ noise[10]};
        if (!reset) begin
            if (in_valid && in_ready)
                in_valid <= 1'b0;
            if ((!in_valid || in_ready) && sent < ROWS * WORDS && !(gaps && noise[0])) begin
                for (place = 0; place < FEATURES; place = place + 1) begin
                    status = $fscanf(inputs, "%d", value);
                    word[place * WIDTH +: WIDTH] = value[WIDTH - 1:0];
                end
                in_data <= word;
                in_last <= sent % WORDS == WORDS - 1;
                in_valid <= 1'b1;
                sent <= sent + 1;
            end

            out_ready <= !(gaps && noise[3]);
            // Of the first prediction, from its first feature on; of the others, since the one before.
            if (received > 0 || cycles > 0 || in_valid)
                cycles <= cycles + 1;
            if (out_valid && out_ready) begin
                status = $fscanf(labels, "%d", wanted);
                given = out_user[1] !== 1'b0 || !out_last ? -2 : out_user[0] ? -1 : {%%{label_zeros}'h0, out_label};
                if (given !== wanted) begin
                    if (differences < 10)
                        $display("row %0d: label %0d, wanted %0d", received, given, wanted);
                    differences <= differences + 1;
                end
                if (received == 0)
                    first <= cycles + 1;
                if (received == 1 || (received > 1 && cycles < fewest))
                    fewest <= cycles;
                if (received > 0 && cycles > most)
                    most <= cycles;
                cycles <= 1;
                received <= received + 1;
            end
            if (received == ROWS) begin
                $display("%0d predictions, %0d differences, first after %0d cycles, then every %0d to %0d",
                    received, differences, first, fewest, most);
                $finish;
            end
        end
    end
endmodule
