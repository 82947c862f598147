    // The sums that are evidence go round: each in turn is in the lowest bits.
    reg [%%{place_top}:0] place;
    wire fetching = state == FETCH && place <= %%{final_place};
    reg [%%{bank_top}:0] bank;
    always @(posedge clk)
        if (begins)
            bank <= %%{bank};
        else if (fetching)
            bank <= %%{rotated};
    // The multiplier of the evidence of this number, its network, and whether it is the last one of that.
    reg [%%{facts_top}:0] facts;
    always @* begin
%%{facts}
    end
    reg [%%{sum_top}:0] magnitude;
    reg [%%{scale_top}:0] scale;
    wire unused_scale = &{1'b0, scale};
    reg final_neuron, weighing;
    always @(posedge clk) begin
        magnitude <= bank[%%{sum_top}] ? -bank[%%{sum_top}:0] : bank[%%{sum_top}:0];
        scale <= facts[%%{scale_top}:0];
        final_neuron <= facts[%%{final_bit}];
        weighing <= fetching;
    end
%%{multiplied}
    // The smallest evidence of each network supports the class that it voted for.  What a reset leaves in the pipeline
    // is gone before the next tie begins.
    reg [%%{nearest_top}:0] nearest, supported;
    wire [%%{nearest_top}:0] product = %%{product};
    wire [%%{nearest_top}:0] nearer = product < nearest ? product : nearest;
    reg [%%{support_top}:0] support, most, weighed, weighed_now;
    reg supporting, found, heavier;
    always @(posedge clk) begin
        supported <= nearer;
        supporting <= %%{weighing} && %%{final_neuron} && %%{for_candidate};
        weighed_now <= weighed;
        heavier <= !found || weighed_now > most;
        if (state == CHOOSE) begin
            nearest <= %%{farthest};
            support <= %%{no_support};
        end else begin
            if (%%{weighing})
                nearest <= %%{final_neuron} ? %%{farthest} : nearer;
            if (supporting)
                support <= support + %%{supported_wide};
        end
    end
    always @* begin
%%{weighed}
    end
