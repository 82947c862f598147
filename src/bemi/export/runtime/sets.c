/* Whether a class has a larger share of votes among its networks than another. */
#define BEMI_AHEAD(a, b) ((uint32_t)counts[a] * BEMI_NETWORKS_OF(b) > (uint32_t)counts[b] * BEMI_NETWORKS_OF(a))
#define BEMI_LEADS(a) (!BEMI_AHEAD(best, a))

int bemi_predict(const bemi_input_t x[BEMI_INPUTS])
{
    bemi_class_t votes[BEMI_NETWORKS];
    uint16_t counts[BEMI_CLASSES];
    uint_fast16_t a, n, best = 0, leaders = 0;
$prepare
    for (n = 0; n < BEMI_NETWORKS; n++)
        votes[n] = bemi_vote(z, n, common);
    for (a = 0; a < BEMI_CLASSES; a++) {
        counts[a] = (uint16_t)bemi_count(votes, a);
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
                if (votes[n] != BEMI_NONE)
                    return votes[n];
                break;
            }
        }
$ties
}
