/* The class that a network votes for: a table tells it from the signs of the neurons that matter. */
static bemi_class_t bemi_vote(const bemi_value_t *z, uint_fast16_t network, bemi_sum_t common)
{
    uint_fast16_t neuron = BEMI_READ_NEURON(bemi_neurons_at[network]);
    uint_fast16_t place = BEMI_READ16(bemi_tables_at[network]);
    uint_fast8_t neurons = BEMI_READ8(bemi_voting[network]), bit;
    for (bit = 0; bit < neurons; bit++)
        if (bemi_sum(z, neuron + bit, common) >= 0)
            place += (uint_fast16_t)1 << bit;
    return BEMI_READ_CLASS(bemi_tables[place]);
}
