                CHOOSE: begin
                    // The next class that leads.
                    place <= %%{first_place};
                    support <= %%{no_support};
                    nearest <= %%{farthest};
                    if (leaders[candidate])
                        state <= FETCH;
                    else begin
                        candidate <= candidate + %%{one_class};
                        if (final_class) begin
                            state <= DONE;
                            out_valid <= 1'b1;
                        end
                    end
                end
                FETCH: begin
                    magnitude <= bank[%%{sum_top}] ? -bank[%%{sum_top}:0] : bank[%%{sum_top}:0];
                    scale <= facts[%%{scale_top}:0];
                    final_neuron <= facts[%%{final_bit}];
                    network <= facts[%%{network_high}:%%{network_low}];
                    state <= MULTIPLY;
                end
                MULTIPLY: begin
                    product <= %%{magnitude_wide} * %%{scale_wide};
                    state <= COLLECT;
                end
                COLLECT: begin
                    nearest <= final_neuron ? %%{farthest} : nearer;
                    if (final_neuron && cast == %%{class_vote})
                        support <= support + %%{nearer_wide};
                    place <= place + %%{one_place};
                    state <= final_place ? COMPARE : FETCH;
                end
                COMPARE: begin
                    found <= 1'b1;
                    if (!found || weighed > most) begin
                        most <= weighed;
                        out_label <= %%{class_label};
                    end
                    candidate <= candidate + %%{one_class};
                    state <= final_class ? DONE : CHOOSE;
                    out_valid <= final_class;
                end
