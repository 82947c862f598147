/* Index of the network for a pair of classes, low < high. */
static uint_fast16_t bemi_pair(uint_fast16_t low, uint_fast16_t high)
{
    return (uint_fast16_t)((uint32_t)low * (2 * BEMI_CLASSES - 1 - low) / 2 + high - low - 1);
}

#define BEMI_LEADS(a) (bemi_count(state, a) == most)

/* The label, once all networks have voted. */
static int bemi_elected(const bemi_state_t *state)
{
    uint_fast16_t a, best = 0, last = 0, most = 0;
    uint_fast8_t leaders = 0;
    for (a = 0; a < BEMI_CLASSES; a++) {
        uint_fast16_t count = bemi_count(state, a);
        if (count > most) {
            most = count;
            best = a;
            leaders = 0;
        }
        if (count == most) {
            last = a;
            if (leaders < 3)
                leaders++;
        }
    }
    if (leaders == 1)
        return (int)best;
    if (leaders == 2)
        return state->votes[bemi_pair(best, last)];
$ties
}

$head
{
$prepare
    uint_fast16_t a, b, n;
#ifndef BEMI_NO_EARLY_OUT
    /* A class that wins all its matches has more votes than any other, no matter how the other networks vote. */
    bemi_class_t met[BEMI_CLASSES];
    uint_fast16_t champion = 0, seen = 0;
    for (b = 1; b < BEMI_CLASSES; b++) {
        n = bemi_pair(champion, b);
        met[b] = (bemi_class_t)champion;
        champion = bemi_vote(&state, n);
    }
    for (; seen < champion; seen++) {
        if (met[champion] == seen)
            continue;
        if (bemi_vote(&state, bemi_pair(seen, champion)) != champion)
            break;
    }
    if (seen == champion)
        return (int)champion;
#endif
    for (a = 0, n = 0; a < BEMI_CLASSES; a++)
        for (b = a + 1; b < BEMI_CLASSES; b++, n++) {
#ifndef BEMI_NO_EARLY_OUT
            if (met[b] == a || (b == champion && a <= seen))
                continue;
#endif
            bemi_vote(&state, n);
        }
    return bemi_elected(&state);
}
