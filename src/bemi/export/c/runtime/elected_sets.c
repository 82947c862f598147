/* Whether a class has a larger share of votes among its networks than another. */
#define BEMI_AHEAD(a, b) ((uint32_t)counts[a] * BEMI_NETWORKS_OF(b) > (uint32_t)counts[b] * BEMI_NETWORKS_OF(a))
#define BEMI_LEADS(a) (!BEMI_AHEAD(best, a))

/* The label, once all networks have voted. */
static int bemi_elected(const bemi_state_t *state)
{
    uint16_t counts[BEMI_CLASSES];
    uint_fast16_t a, n, best = 0, leaders = 0;
    for (a = 0; a < BEMI_CLASSES; a++) {
        counts[a] = (uint16_t)bemi_count(state, a);
        if (BEMI_AHEAD(a, best))
            best = a;
    }
    for (a = 0; a < BEMI_CLASSES; a++)
        leaders += BEMI_LEADS(a);
    if (leaders == 1)
        return (int)best;
    if (leaders == BEMI_SUBSET_SIZE)
        for (n = 0; n < BEMI_NETWORKS; n++) {
            uint_fast16_t members = 0;
            for (a = 0; a < BEMI_SUBSET_SIZE; a++)
                members += BEMI_LEADS(BEMI_READ_CLASS(bemi_subsets[n * BEMI_SUBSET_SIZE + a]));
            if (members == BEMI_SUBSET_SIZE) {
                if (state->votes[n] != BEMI_NONE)
                    return (int)state->votes[n];
                break;
            }
        }
$ties
}
