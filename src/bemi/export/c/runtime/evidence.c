/* How far the input is from a network's nearest decision boundary. */
static uint64_t bemi_evidence(const bemi_state_t *state, uint_fast16_t network)
{
    uint_fast16_t first = BEMI_READ_NEURON(bemi_neurons_at[network]), neuron = first;
    uint_fast16_t end = BEMI_READ_NEURON(bemi_neurons_at[network + 1]);
    uint64_t nearest = UINT64_MAX;
    for (; neuron < end; neuron++) {
        uint32_t scale = BEMI_READ32(bemi_scales[neuron]);
        if (scale != BEMI_NO_EVIDENCE) {
#if BEMI_KEEP_SUMS
            /* The first sum is known, unless the vote did not need any. */
            int known = neuron == first && BEMI_READ8(bemi_voting[network]) > 0;
            bemi_sum_t sum = known ? state->sums[network] : bemi_sum(state, neuron);
#else
            bemi_sum_t sum = bemi_sum(state, neuron);
#endif
            uint64_t distance = (uint64_t)(uint32_t)(sum < 0 ? -sum : sum) * scale;
            if (distance < nearest)
                nearest = distance;
        }
    }
    return nearest == UINT64_MAX ? 0 : nearest;
}

/* Total evidence of the networks that voted for a class. */
static uint64_t bemi_support(const bemi_state_t *state, uint_fast16_t label)
{
    uint64_t total = 0;
    uint_fast16_t network;
    for (network = 0; network < BEMI_NETWORKS; network++)
        if (state->votes[network] == label)
            total += bemi_evidence(state, network);
    return total;
}
