/* The pre-activation of a first-layer neuron.  From the first input with a non-zero weight to the last, each weight plus
   BEMI_WEIGHT_BOUND is stored in BEMI_BITS bits, lowest bits first. */
static bemi_sum_t bemi_sum(const bemi_state_t *state, uint_fast16_t neuron)
{
    const uint8_t *p = bemi_weights + BEMI_READ_PLACE(bemi_weights_at[neuron]);
    const bemi_value_t *input = state->z + (BEMI_READ8(p[0]) | (uint_fast16_t)BEMI_READ8(p[1]) << 8);
    uint_fast16_t count = BEMI_READ8(p[2]) | (uint_fast16_t)BEMI_READ8(p[3]) << 8;
    bemi_bits_t bits = 0;
    uint_fast8_t left = 0;
    bemi_sum_t sum = 0;
    for (p += 4; count > 0; count--, input++) {
        while (left < BEMI_BITS) {
            bits |= (bemi_bits_t)((bemi_bits_t)BEMI_READ8(*p) << left);
            p++;
            left = (uint_fast8_t)(left + 8);
        }
        sum += ((bemi_sum_t)(bits & ((1UL << BEMI_BITS) - 1)) - BEMI_WEIGHT_BOUND) * *input;
        bits >>= BEMI_BITS;
        left = (uint_fast8_t)(left - BEMI_BITS);
    }
    return sum;
}
