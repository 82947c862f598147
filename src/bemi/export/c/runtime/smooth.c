/* The last labels and the stable one, each plus 1; 0 is no label. */
static bemi_label_t bemi_labels[BEMI_SMOOTH_LENGTH], bemi_stable;
static uint8_t bemi_newest;

int bemi_smooth(int label)
{
    uint_fast8_t place, seen, other, most = 0;
    bemi_label_t best = 0;
    bemi_newest = (uint8_t)(bemi_newest + 1U < BEMI_SMOOTH_LENGTH ? bemi_newest + 1U : 0);
    bemi_labels[bemi_newest] = (bemi_label_t)(label < 0 ? 0 : label + 1);
    /* The newest first, so that it wins among equals. */
    for (seen = 0, place = bemi_newest; seen < BEMI_SMOOTH_LENGTH; seen++) {
        const bemi_label_t own = bemi_labels[place];
        uint_fast8_t count = 0;
        for (other = 0; other < BEMI_SMOOTH_LENGTH; other++)
            count = (uint_fast8_t)(count + (own != 0 && bemi_labels[other] == own));
        if (count > most) {
            most = count;
            best = own;
        }
        place = (uint_fast8_t)(place > 0 ? place - 1 : BEMI_SMOOTH_LENGTH - 1);
    }
    if (most >= BEMI_SMOOTH_VOTES)
        bemi_stable = best;
    return (int)bemi_stable - 1;
}

void bemi_smooth_reset(void)
{
    /* Volatile, since a compiler may turn the loop into a call of memset. */
    volatile bemi_label_t *labels = bemi_labels;
    uint_fast8_t place;
    for (place = 0; place < BEMI_SMOOTH_LENGTH; place++)
        labels[place] = 0;
    bemi_stable = 0;
}
