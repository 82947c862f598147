// Feeds the rows of inputs.txt to %%{module} and compares its labels with labels.txt, which Python wrote.
// With +gaps, both sides of the circuit pause now and then.
module test_bench;
    localparam ROWS = %%{rows}, WORDS = %%{words}, FEATURES = %%{features}, WIDTH = %%{width};
    reg clk = 1'b0, reset = 1'b1, gaps = 1'b0;
    always #5 clk = ~clk;

    reg in_valid = 1'b0, out_ready = 1'b1;
    reg [FEATURES * WIDTH - 1:0] in_data;
    wire in_ready, out_valid, out_unclassified;
    wire [%%{label_top}:0] out_label;
    %%{module} circuit (
        .clk(clk), .reset(reset), .in_valid(in_valid), .in_ready(in_ready), .in_data(in_data),
        .out_valid(out_valid), .out_ready(out_ready), .out_label(out_label), .out_unclassified(out_unclassified)
    );

    integer inputs, labels, status, value, place, wanted, given;
    integer sent = 0, received = 0, differences = 0, cycles = 0, first = 0, fewest = 0, most = 0;
    reg [FEATURES * WIDTH - 1:0] word;
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
                in_valid <= 1'b1;
                sent <= sent + 1;
            end

            out_ready <= !(gaps && noise[3]);
            // Of the first prediction, from its first feature on; of the others, since the one before.
            if (received > 0 || cycles > 0 || in_valid)
                cycles <= cycles + 1;
            if (out_valid && out_ready) begin
                status = $fscanf(labels, "%d", wanted);
                given = out_unclassified ? -1 : {%%{label_zeros}'h0, out_label};
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
