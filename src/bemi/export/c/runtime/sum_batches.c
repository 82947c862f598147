/* The pre-activation of a first-layer neuron is known: inputs are added to all sums as soon as they are known, eight at
   a time, and need not be stored. */
static bemi_sum_t bemi_sum(const bemi_state_t *state, uint_fast16_t neuron)
{
    return state->sums[neuron];
}
