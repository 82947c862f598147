/* The nearest of the class that the networks give and the learned ones, or -1 if the row is outside its ranges. */
static int bemi_nearest(const $kind *values, int label, const bemi_learned_t *learned, uint_fast8_t count$margin)
{
    int8_t features[BEMI_FEATURES];
    const uint_fast16_t at = (uint_fast16_t)label * BEMI_FEATURES;
    uint32_t nearest = 0, strangeness = 0;
    uint_fast8_t i, number, chosen = count;
    if (label < 0)
        return label;
    bemi_features(values, features);
    for (i = 0; i < BEMI_FEATURES; i++) {
        const int low = bemi_low(at, i), apart = features[i] - low - (bemi_high(at, i) - low) / 2;
        nearest += (uint32_t)((int32_t)apart * apart);
    }
    nearest *= BEMI_KNOWN_NEARER;
    for (number = 0; number < count; number++) {
        uint32_t sum = 0;
        if (learned[number].rows == 0)
            continue;
        for (i = 0; i < BEMI_FEATURES; i++) {
            const int apart = features[i] - learned[number].sums[i] / learned[number].rows;
            sum += (uint32_t)((int32_t)apart * apart);
        }
        sum *= BEMI_LEARNED_NEARER;
        if (sum < nearest) {
            nearest = sum;
            chosen = number;
        }
    }
    if (chosen == count)
        return bemi_known(values, label$hands_on);
    for (i = 0; i < BEMI_FEATURES; i++) {
        const int width = bemi_high(at, i) - bemi_low(at, i);
        int apart = features[i] - learned[chosen].sums[i] / learned[chosen].rows;
        if (apart < 0)
            apart = -apart;
        if (apart > width)
            strangeness += (uint32_t)(apart - width);
    }
    return strangeness * BEMI_KNOWN_OUTSIDE > BEMI_KNOWN_LIMIT ? -1 : BEMI_CLASSES + (int)chosen;
}

/* Learns a row, and returns how many there are. */
static int bemi_learn_values(const $kind *values, bemi_learned_t *learned)
{
    int8_t features[BEMI_FEATURES];
    uint_fast8_t i;
    if (learned->rows < BEMI_MOST_LEARNED) {
        bemi_features(values, features);
        for (i = 0; i < BEMI_FEATURES; i++)
            learned->sums[i] = (int16_t)(learned->sums[i] + features[i]);
        learned->rows++;
    }
    return learned->rows;
}
