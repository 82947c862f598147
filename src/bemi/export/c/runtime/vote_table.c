/* Let a network vote: a table gives the class for the signs of the neurons that matter. */
static bemi_class_t bemi_vote(bemi_state_t *state, uint_fast16_t network)
{
    uint_fast16_t neuron = BEMI_READ_NEURON(bemi_neurons_at[network]);
    uint_fast16_t place = BEMI_READ16(bemi_tables_at[network]);
    uint_fast8_t neurons = BEMI_READ8(bemi_voting[network]), bit;
#if BEMI_KEEP_SUMS
    /* A network without neurons never reads it, but compilers cannot know that. */
    state->sums[network] = 0;
#endif
    for (bit = 0; bit < neurons; bit++) {
        bemi_sum_t sum = bemi_sum(state, neuron + bit);
        if (sum >= 0)
            place += (uint_fast16_t)1 << bit;
#if BEMI_KEEP_SUMS
        if (bit == 0)
            state->sums[network] = sum;
#endif
    }
    return state->votes[network] = BEMI_READ_CLASS(bemi_tables[place]);
}
