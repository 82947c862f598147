    // A step is one use of a feature, which stays on in_data until its last step.
    reg loading, complete;
    reg [%%{step_top}:0] step;
    wire vote_ready;
    wire take = loading && in_valid;
    wire final_step = step == %%{final_step};
    wire cleared = reset || (complete && vote_ready);
    // The feature, and what is done with it.
    reg [%%{in_top}:0] data;
    always @(posedge clk)
        data <= in_data;
%%{control}
    assign in_ready = loading && last;
    // Features on their way to values, and the last one on its way to the sums.
    reg [%%{made_top}:0] taken;
    reg [%%{delay_top}:0] adding;
    reg [%%{finish_top}:0] finishing;
    // A value of 0 changes no sum.
    wire adds = taken[%%{made_top}] && %%{made_any};

    // The weights of all neurons in a step, and what they are multiplied by.
    reg [%%{weights_top}:0] weights;
    reg [%%{value_top}:0] value;
%%{minus_register}
    always @(posedge clk) begin
%%{rom}
        value <= %%{made};
%%{minus}
    end
    always @(posedge clk)
        if (reset) begin
            loading <= 1'b1;
            complete <= 1'b0;
            step <= %%{zero_step};
            taken <= %%{none_taken};
            adding <= %%{none_adding};
            finishing <= %%{none_finishing};
        end else begin
            taken <= %%{next_taken};
            adding <= %%{next_adding};
            finishing <= %%{next_finishing};
            if (take) begin
                step <= final_step ? %%{zero_step} : step + %%{one_step};
                loading <= !final_step;
            end
            if (finishing[%%{finish_top}])
                complete <= 1'b1;
            else if (complete && vote_ready) begin
                complete <= 1'b0;
                loading <= 1'b1;
            end
        end
%%{sums}
