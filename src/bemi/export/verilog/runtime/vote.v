    // The vote: count votes, one network per clock, find the classes that lead, and decide ties.
    // Whether the sum of each neuron that votes is at least 0.
    reg [%%{signs_top}:0] signs;
%%{upper}
    localparam [3:0] IDLE = 4'd0, COUNT = 4'd1, LEAD = 4'd2, JUDGE = 4'd3, DECIDE = 4'd4, DONE = 4'd5,
        COUNTED = 4'd6, LED = 4'd7;
%%{states}
    reg [3:0] state;
    assign vote_ready = state == IDLE;
    wire begins = complete && vote_ready;
    always @(posedge clk)
        if (begins)
            signs <= %%{positive};
    reg [%%{network_top}:0] network;
    reg [%%{class_top}:0] candidate;
    wire final_network = network == %%{final_network};
    wire final_class = candidate == %%{final_class};

    // The class that the network votes for, %%{none} for none, and the classes that it was trained on.
    reg [%%{vote_top}:0] cast;
    always @* begin
%%{votes}
    end
    reg [%%{classes_top}:0] members;
    always @* begin
%%{members}
    end

    // A vote, the classes of its network, and the share of a class are looked at a clock after they were chosen.
    reg [%%{vote_top}:0] voted;
    reg [%%{classes_top}:0] rivals;
    reg counting, leading_on, final_voted;
    reg [%%{label_top}:0] looked_at;
    always @(posedge clk) begin
        voted <= cast;
        rivals <= members;
        final_voted <= state == DECIDE && final_network;
        counting <= state == COUNT;
        leading_on <= state == LEAD;
        looked_at <= candidate;
        share <= share_of;
    end
%%{counts}
    reg [%%{share_top}:0] share, share_of;
    always @* begin
%%{shares}
    end
    reg [%%{share_top}:0] best;
    reg [%%{classes_top}:0] leaders;
    reg [%%{leading_top}:0] leading;
%%{evidence}
%%{unused}
    wire better = looked_at == %%{first_class} || share > best;
    always @(posedge clk)
        if (leading_on) begin
            if (better) begin
                best <= share;
                leaders <= %%{one_leader} << looked_at;
                leading <= %%{one_leading};
            end else if (share == best) begin
                leaders <= leaders | (%%{one_leader} << looked_at);
                leading <= leading + %%{one_leading};
            end
        end
    always @(posedge clk)
        if (reset) begin
            state <= IDLE;
            out_valid <= 1'b0;
        end else begin
            if (leading_on && better)
                out_label <= looked_at;
            case (state)
                IDLE: begin
                    network <= %%{first_network};
                    candidate <= %%{first_class};
                    if (begins)
                        state <= COUNT;
                end
                COUNT: begin
                    network <= final_network ? %%{first_network} : network + %%{one_network};
                    if (final_network)
                        state <= COUNTED;
                end
                COUNTED: state <= LEAD;
                LEAD: begin
                    candidate <= final_class ? %%{first_class} : candidate + %%{one_class};
                    if (final_class)
                        state <= LED;
                end
                LED: state <= JUDGE;
                JUDGE: begin
                    out_unclassified <= 1'b0;
                    if (leading == %%{one_leading}) begin
                        state <= DONE;
                        out_valid <= 1'b1;
                    end else if (leading == %%{subset_size})
                        state <= DECIDE;
                    else begin
%%{undecided}
                    end
                end
                DECIDE: begin
                    // As many classes lead as a network has, so it is theirs if these are its classes.
                    network <= network + %%{one_network};
                    if (leaders == rivals && voted != %%{none}) begin
                        out_label <= voted[%%{label_top}:0];
                        state <= DONE;
                        out_valid <= 1'b1;
                    end else if (leaders == rivals || final_voted) begin
%%{undecided}
                    end
                end
%%{tie_states}
                default: begin
                    if (out_ready) begin
                        out_valid <= 1'b0;
                        state <= IDLE;
                    end
                end
            endcase
        end