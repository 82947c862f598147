    // A step is one use of a feature, which stays on in_data until its last step.
    reg loading, complete;
    reg [%%{step_top}:0] step;
    wire vote_ready;
    wire take = loading && in_valid;
    wire final_step = step == %%{final_step};
    wire cleared = reset || (complete && vote_ready);
%%{control}
    // A value of 0 changes no sum.
    wire adds = take && %%{made_any};
    assign in_ready = loading && last;

    // The weights of all neurons in a step, and what they are multiplied by.
    reg [%%{weights_top}:0] weights;
    reg [%%{value_top}:0] value;
%%{minus_register}
    reg [%%{delay_top}:0] adding;
    reg [%%{delay_top}:0] finishing;
    always @(posedge clk)
        if (adds) begin
%%{rom}
            value <= made;
%%{minus}
        end
    always @(posedge clk)
        if (reset) begin
            loading <= 1'b1;
            complete <= 1'b0;
            step <= %%{zero_step};
            adding <= %%{no_delay};
            finishing <= %%{no_delay};
        end else begin
            adding <= %%{next_adding};
            finishing <= %%{next_finishing};
            if (take) begin
                step <= final_step ? %%{zero_step} : step + %%{one_step};
                loading <= !final_step;
            end
            if (finishing[%%{delay_top}])
                complete <= 1'b1;
            else if (complete && vote_ready) begin
                complete <= 1'b0;
                loading <= 1'b1;
            end
        end
%%{sums}
