/* How far the input is from a network's nearest decision. */
static uint64_t bemi_evidence(const bemi_value_t *z, uint_fast16_t network, bemi_sum_t common)
{
    uint_fast16_t neuron = BEMI_READ_NEURON(bemi_neurons_at[network]);
    uint_fast16_t end = BEMI_READ_NEURON(bemi_neurons_at[network + 1]);
    uint64_t nearest = UINT64_MAX;
    for (; neuron < end; neuron++) {
        uint32_t scale = BEMI_READ32(bemi_scales[neuron]);
        if (scale != BEMI_NO_EVIDENCE) {
            bemi_sum_t sum = bemi_sum(z, neuron, common);
            uint64_t distance = (uint64_t)(uint32_t)(sum < 0 ? -sum : sum) * scale;
            if (distance < nearest)
                nearest = distance;
        }
    }
    return nearest == UINT64_MAX ? 0 : nearest;
}

/* What all networks that voted for a class bring forward. */
static uint64_t bemi_support(const bemi_value_t *z, const bemi_class_t *votes, uint_fast16_t label, bemi_sum_t common)
{
    uint64_t total = 0;
    uint_fast16_t network;
    for (network = 0; network < BEMI_NETWORKS; network++)
        if (votes[network] == label)
            total += bemi_evidence(z, network, common);
    return total;
}
