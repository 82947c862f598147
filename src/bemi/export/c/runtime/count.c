static uint_fast16_t bemi_count(const bemi_state_t *state, uint_fast16_t label)
{
    uint_fast16_t network, count = 0;
    for (network = 0; network < BEMI_NETWORKS; network++)
        count += state->votes[network] == label;
    return count;
}
