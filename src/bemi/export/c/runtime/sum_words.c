/* The pre-activation of a first-layer neuron.  Each half byte is a word: it moves on by a step and adds a weight times
   the input there. */
#define BEMI_ADD_WORD(code) \
    at += BEMI_READ8(bemi_word_steps[code]); \
    sum += (int8_t)BEMI_READ8(bemi_word_weights[code]) * (bemi_sum_t)z[at];

static bemi_sum_t bemi_sum(const bemi_state_t *state, uint_fast16_t neuron)
{
    const uint8_t *p = bemi_weights + BEMI_READ_PLACE(bemi_weights_at[neuron]);
    const uint8_t *end = bemi_weights + BEMI_READ_PLACE(bemi_weights_at[neuron + 1]);
    const bemi_value_t *z = state->z;
    /* Before the first input. */
    uint_fast16_t at = (uint_fast16_t)-1;
    bemi_sum_t sum = 0;
    if (p < end)
        do {
            const uint_fast8_t one = BEMI_READ8(p[0]), other = BEMI_READ8(p[1]);
            BEMI_ADD_WORD(one & 15)
            BEMI_ADD_WORD(one >> 4)
            BEMI_ADD_WORD(other & 15)
            BEMI_ADD_WORD(other >> 4)
            p += 2;
        } while (p < end);
    return sum;
}
