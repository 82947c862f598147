int bemi_smooth(bemi_smoother_t *smoother, int label)
{
    uint_fast8_t place, seen, other, most = 0;
    bemi_label_t best = 0;
    smoother->newest = (uint8_t)(smoother->newest + 1U < BEMI_SMOOTH_LENGTH ? smoother->newest + 1U : 0);
    smoother->labels[smoother->newest] = (bemi_label_t)(label < 0 ? 0 : label + 1);
    /* The newest first, so that it wins among equals. */
    for (seen = 0, place = smoother->newest; seen < BEMI_SMOOTH_LENGTH; seen++) {
        const bemi_label_t own = smoother->labels[place];
        uint_fast8_t count = 0;
        for (other = 0; other < BEMI_SMOOTH_LENGTH; other++)
            count = (uint_fast8_t)(count + (own != 0 && smoother->labels[other] == own));
        if (count > most) {
            most = count;
            best = own;
        }
        place = (uint_fast8_t)(place > 0 ? place - 1 : BEMI_SMOOTH_LENGTH - 1);
    }
    if (most >= BEMI_SMOOTH_VOTES)
        smoother->stable = best;
    return (int)smoother->stable - 1;
}

void bemi_smoother_init(bemi_smoother_t *smoother)
{
    /* Volatile, since a compiler may turn the loop into a call of memset. */
    volatile bemi_label_t *labels = smoother->labels;
    uint_fast8_t place;
    for (place = 0; place < BEMI_SMOOTH_LENGTH; place++)
        labels[place] = 0;
    smoother->stable = 0;
    smoother->newest = 0;
}
