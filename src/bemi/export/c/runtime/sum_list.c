/* The pre-activation of a first-layer neuron: a base weight times the sum of the common inputs, plus each other weight
   times the sum of the inputs that have it.  A group stores its first input, then the distance from each input to the
   next. */
#define BEMI_ADD(next) input += BEMI_READ8(p[next]); part += *input;

static bemi_sum_t bemi_sum(const bemi_state_t *state, uint_fast16_t neuron)
{
    const uint8_t *p = bemi_weights + BEMI_READ_PLACE(bemi_weights_at[neuron]);
    bemi_sum_t sum = (int8_t)BEMI_READ8(p[0]) * state->common;
    uint_fast8_t groups = BEMI_READ8(p[1]);
    for (p += 2; groups > 0; groups--) {
        bemi_sum_t weight = (int8_t)BEMI_READ8(p[0]);
        uint_fast8_t more = BEMI_READ8(p[1]);
        const bemi_value_t *input = state->z + (BEMI_READ8(p[2]) | (uint_fast16_t)BEMI_READ8(p[3]) << 8);
        bemi_sum_t part = *input;
        for (p += 4; more >= 8; more = (uint_fast8_t)(more - 8), p += 8) {
            BEMI_ADD(0)
            BEMI_ADD(1)
            BEMI_ADD(2)
            BEMI_ADD(3)
            BEMI_ADD(4)
            BEMI_ADD(5)
            BEMI_ADD(6)
            BEMI_ADD(7)
        }
        for (; more > 0; more--, p++) {
            BEMI_ADD(0)
        }
        sum += weight * part;
    }
    return sum;
}
