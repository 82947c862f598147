/* Probability of the first class of a network's pair: a table of 256ths over the clipped score. */
static uint_fast16_t bemi_chance(uint_fast16_t network, int32_t score)
{
    int32_t start = BEMI_READ_START(bemi_chances_from[network]);
    uint32_t place = BEMI_READ_CHANCES(bemi_chances_at[network]);
    uint32_t last = BEMI_READ_CHANCES(bemi_chances_at[network + 1]) - 1 - place, step = 0;
    if (score > start)
        step = ((uint32_t)score - (uint32_t)start) >> BEMI_READ8(bemi_chances_shift[network]);
    return BEMI_READ8(bemi_chances[place + (step < last ? step : last)]);
}

/* All networks vote; a class gets 1 / (the sum of the reciprocals of its probabilities in all its pairs - (classes - 2)),
   and then its part of the sum over all classes. */
$head
{
$prepare
    uint32_t shares[BEMI_CLASSES], total = 0;
    uint_fast16_t a, b, n;
    for (a = 0; a < BEMI_CLASSES; a++)
        shares[a] = 0;
    for (a = 0, n = 0; a < BEMI_CLASSES; a++)
        for (b = a + 1; b < BEMI_CLASSES; b++, n++) {
            bemi_sum_t score = bemi_sum(state, n);
            uint_fast16_t chance = bemi_chance(n, (int32_t)score);
            state->votes[n] = (bemi_class_t)(score >= 0 ? a : b);
#if BEMI_KEEP_SUMS
            state->sums[n] = score;
#endif
            shares[a] += (uint32_t)(1048576UL / chance);
            shares[b] += (uint32_t)(1048576UL / (256 - chance));
        }
    for (a = 0; a < BEMI_CLASSES; a++) {
        shares[a] = (uint32_t)(268435456UL / (shares[a] - (BEMI_CLASSES - 2) * 4096UL));
        if (shares[a] == 0)
            shares[a] = 1;
        total += shares[a];
    }
    for (a = 0; a < BEMI_CLASSES; a++) {
        p[a] = (uint16_t)((shares[a] * 65536UL + total / 2) / total);
        if (p[a] == 0)
            p[a] = 1;
    }
    return bemi_elected(state);
}
