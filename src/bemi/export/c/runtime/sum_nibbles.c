/* The pre-activation of a first-layer neuron.  From the first input with a non-zero weight to the last, each weight plus
   BEMI_WEIGHT_BOUND is stored in four bits, lowest bits first. */
static bemi_sum_t bemi_sum(const bemi_state_t *state, uint_fast16_t neuron)
{
    const uint8_t *p = bemi_weights + BEMI_READ_PLACE(bemi_weights_at[neuron]);
    const bemi_value_t *input = state->z + (BEMI_READ8(p[0]) | (uint_fast16_t)BEMI_READ8(p[1]) << 8);
    uint_fast16_t count = BEMI_READ8(p[2]) | (uint_fast16_t)BEMI_READ8(p[3]) << 8;
    uint_fast16_t pairs = count >> 1;
    bemi_sum_t sum = 0, plain = 0;
    p += 4;
    if (pairs > 0)
        do {
            const uint_fast8_t both = BEMI_READ8(*p);
            const bemi_sum_t one = *input++, other = *input++;
            sum += (bemi_sum_t)(both & 15) * one;
            sum += (bemi_sum_t)(both >> 4) * other;
            plain += one;
            plain += other;
            p++;
        } while (--pairs);
    if (count & 1) {
        sum += (bemi_sum_t)(BEMI_READ8(*p) & 15) * *input;
        plain += *input;
    }
    return sum - BEMI_WEIGHT_BOUND * plain;
}
