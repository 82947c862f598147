                CHOOSE: begin
                    // The next class that leads.
                    place <= %%{first_place};
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
                    network <= facts[%%{network_high}:%%{network_low}];
                    place <= place + %%{one_place};
                    if (place == %%{drained_place})
                        state <= WEIGH;
                end
                WEIGH: state <= COMPARE;
                COMPARE: state <= TAKE;
                TAKE: begin
                    found <= 1'b1;
                    if (heavier) begin
                        most <= weighed_now;
                        out_label <= candidate;
                    end
                    candidate <= candidate + %%{one_class};
                    state <= final_class ? DONE : CHOOSE;
                    out_valid <= final_class;
                end
