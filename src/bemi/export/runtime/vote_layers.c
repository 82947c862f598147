/* The class that a network votes for.  Where few neurons matter, a table tells it from their signs; otherwise the signs go
   through the upper layers.  Zero counts as positive everywhere. */
static bemi_class_t bemi_vote(const bemi_value_t *z, uint_fast16_t network, bemi_sum_t common)
{
    int8_t signs[2][BEMI_WIDEST_LAYER];
    uint_fast16_t neuron = BEMI_READ_NEURON(bemi_neurons_at[network]);
    uint_fast16_t place = BEMI_READ16(bemi_tables_at[network]);
    uint_fast16_t neurons = BEMI_READ8(bemi_voting[network]), layer, i, j, size, code = 0;
    const bemi_upper_t *p = bemi_upper + place * (uint32_t)BEMI_UPPER_SIZE;
    if (neurons != BEMI_LAYERS_INSTEAD) {
        for (i = 0; i < neurons; i++)
            if (bemi_sum(z, neuron + i, common) >= 0)
                place += (uint_fast16_t)1 << i;
        return BEMI_READ_CLASS(bemi_tables[place]);
    }
    size = BEMI_READ16(bemi_layers[0]);
    for (i = 0; i < size; i++, p++) {
        signs[0][i] = (int8_t)BEMI_READ_UPPER(*p);
        if (signs[0][i] == 0)
            signs[0][i] = bemi_sum(z, neuron++, common) >= 0 ? 1 : -1;
    }
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
    return code < BEMI_SUBSET_SIZE ? BEMI_READ_CLASS(bemi_subsets[network * BEMI_SUBSET_SIZE + code]) : BEMI_NONE;
}
