// Sends the beats of beats.txt, tdata and tlast, with pauses on both sides; prints tdata, tuser and tlast of the answers.
module packets;
    reg clk = 1'b0, aresetn = 1'b0, valid = 1'b0, last, ready = 1'b0, ended = 1'b0;
    reg [`WIDTH - 1:0] data, next_data;
    integer beats, status, next_last, idle = 0;
    reg [15:0] noise = 16'hace1;
    wire taken, answered, answer_last;
    wire [7:0] answer;
    wire [1:0] user;
    always #5 clk = ~clk;
    bemi_axis circuit (
        .aclk(clk), .aresetn(aresetn), .s_axis_tvalid(valid), .s_axis_tready(taken), .s_axis_tdata(data),
        .s_axis_tlast(last), .m_axis_tvalid(answered), .m_axis_tready(ready), .m_axis_tdata(answer),
        .m_axis_tuser(user), .m_axis_tlast(answer_last)
    );
    initial begin
        beats = $fopen("beats.txt", "r");
        #22 aresetn = 1'b1;
    end
    always @(posedge clk) begin
        noise <= {noise[14:0], noise[15] ^ noise[13] ^ noise[12] ^ noise[10]};
        ready <= noise[2];
        if (aresetn && (!valid || taken)) begin
            valid <= 1'b0;
            if (noise[0] && !ended) begin
                status = $fscanf(beats, "%h %d", next_data, next_last);
                ended <= status != 2;
                valid <= status == 2;
                data <= next_data;
                last <= next_last != 0;
            end
        end
        if (answered && ready)
            $display("answer %0d %0d %0d", answer, user, answer_last);
        idle <= ended && !answered ? idle + 1 : 0;
        if (idle == 1000)
            $finish;
    end
endmodule
