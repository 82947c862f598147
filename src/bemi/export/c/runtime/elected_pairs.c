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
        return (int)state->votes[bemi_pair(best, last)];
$ties
}
