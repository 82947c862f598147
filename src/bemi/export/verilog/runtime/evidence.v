    // The sums that are evidence go round: each in turn is in the lowest bits.
    reg [%%{bank_top}:0] bank;
    always @(posedge clk)
        if (begins)
            bank <= %%{bank};
        else if (state == FETCH)
            bank <= %%{rotated};
    // The multiplier of the evidence of this number, its network, and whether it is the last one of that.
    reg [%%{place_top}:0] place;
    reg [%%{facts_top}:0] facts;
    always @* begin
%%{facts}
    end
    wire final_place = place == %%{final_place};
    reg [%%{sum_top}:0] magnitude;
    reg [%%{scale_top}:0] scale;
    wire unused_scale = &{1'b0, scale};
    reg final_neuron;
    reg [%%{nearest_top}:0] product, nearest;
    wire [%%{nearest_top}:0] nearer = product < nearest ? product : nearest;
    reg [%%{support_top}:0] support, most;
    reg [%%{support_top}:0] weighed;
    always @* begin
%%{weighed}
    end
    reg found;
