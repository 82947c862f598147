/* Let a network vote.  If few neurons matter, a table gives the class for their signs; otherwise the signs go through the
   upper layers.  Zero always counts as positive. */
static bemi_class_t bemi_vote(bemi_state_t *state, uint_fast16_t network)
{
    int8_t signs[2][BEMI_WIDEST_LAYER];
    uint_fast16_t first = BEMI_READ_NEURON(bemi_neurons_at[network]), neuron = first;
    uint_fast16_t place = BEMI_READ16(bemi_tables_at[network]);
    uint_fast16_t neurons = BEMI_READ8(bemi_voting[network]), layer, i, j, size = BEMI_READ16(bemi_layers[0]), code = 0;
    const bemi_upper_t *p = bemi_upper + place * (uint32_t)BEMI_UPPER_SIZE;
#if BEMI_KEEP_SUMS
    /* A network without neurons never reads it, but compilers cannot know that. */
    state->sums[network] = 0;
#endif
    for (i = 0; i < (neurons == BEMI_LAYERS_INSTEAD ? size : neurons); i++) {
        int_fast8_t sign = neurons == BEMI_LAYERS_INSTEAD ? (int_fast8_t)BEMI_READ_UPPER(p[i]) : 0;
        if (sign == 0) {
            bemi_sum_t sum = bemi_sum(state, neuron);
            sign = sum >= 0 ? 1 : -1;
#if BEMI_KEEP_SUMS
            if (neuron == first)
                state->sums[network] = sum;
#endif
            neuron++;
        }
        if (neurons == BEMI_LAYERS_INSTEAD)
            signs[0][i] = (int8_t)sign;
        else if (sign > 0)
            place += (uint_fast16_t)1 << i;
    }
    if (neurons != BEMI_LAYERS_INSTEAD)
        return state->votes[network] = BEMI_READ_CLASS(bemi_tables[place]);
    p += size;
    for (layer = 1; layer < BEMI_LAYERS; layer++) {
        uint_fast16_t next = BEMI_READ16(bemi_layers[layer]);
        for (j = 0; j < next; j++) {
            int_fast32_t sum = 0;
            for (i = 0; i < size; i++, p++)
                sum += signs[(layer - 1) & 1][i] * (int_fast32_t)BEMI_READ_UPPER(*p);
            signs[layer & 1][j] = sum >= 0 ? 1 : -1;
        }
        size = next;
    }
    for (j = 0; j < size; j++)
        code = 2 * code + (signs[(layer - 1) & 1][j] < 0);
    return state->votes[network] = code < BEMI_SUBSET_SIZE
        ? BEMI_READ_CLASS(bemi_subsets[network * BEMI_SUBSET_SIZE + code])
        : BEMI_NONE;
}
