/* A feature: how far a column, or an input of the networks, is from a centre; in -127..127. */
static int bemi_feature($wide value, uint_fast8_t place)
{
#if BEMI_KNOWN_COLUMNS
    const int32_t centre = BEMI_READ_KNOWN_CENTRE(bemi_known_centres[place]);
    const int_fast8_t halvings = (int8_t)BEMI_READ8(bemi_known_halvings[place]);
    uint32_t apart = value < centre ? (uint32_t)centre - (uint32_t)value : (uint32_t)value - (uint32_t)centre;
    if (value == -2147483647L - 1)
        return 0; /* A missing cell. */
#if BEMI_KNOWN_LEVELS
    if (halvings == -127)
        return value < 0 ? -127 : 0; /* A level that training did not have. */
#endif
#if BEMI_KNOWN_DOUBLES
    if (halvings < 0)
        apart = (apart > 127 ? 127 : apart) << -halvings;
    else
#endif
        apart >>= halvings;
    if (apart > 127)
        apart = 127;
    return value < centre ? -(int)apart : (int)apart;
#else
    (void)place;
    return ((int)value - BEMI_KNOWN_CENTRE) / BEMI_KNOWN_UNIT;
#endif
}

/* Features: single ones, and halves of sums and then of differences of two of these. */
static void bemi_features(const $kind *values, int8_t *features)
{
    uint_fast8_t i;
    for (i = 0; i < BEMI_KNOWN_SINGLE; i++)
        features[i] = (int8_t)bemi_feature(values[BEMI_KNOWN_AT(i)], i);
#if BEMI_KNOWN_PAIRS
    for (i = 0; i < BEMI_KNOWN_PAIRS; i++) {
        const int first = features[BEMI_READ8(bemi_known_firsts[i])], second = features[BEMI_READ8(bemi_known_seconds[i])];
#if BEMI_KNOWN_SUMS
        features[BEMI_KNOWN_SINGLE + i] = (int8_t)((i < BEMI_KNOWN_SUMS ? first + second : first - second) / 2);
#else
        features[BEMI_KNOWN_SINGLE + i] = (int8_t)((first - second) / 2);
#endif
    }
#endif
}

/* The ends of the range of a feature in a class, whose ranges start at the first place. */
static int bemi_low(uint_fast16_t at, uint_fast8_t i)
{
#if BEMI_KNOWN_STEPS
    return (int8_t)BEMI_READ8(bemi_known_starts[i]) +
           (int)((BEMI_READ8(bemi_known_ends[at + i]) & 15U) << BEMI_READ8(bemi_known_shifts[i]));
#else
    return BEMI_READ_KNOWN_END(bemi_known_ends[2 * (at + i)]);
#endif
}

static int bemi_high(uint_fast16_t at, uint_fast8_t i)
{
#if BEMI_KNOWN_STEPS
    return (int8_t)BEMI_READ8(bemi_known_starts[i]) +
           (int)((uint_fast16_t)(BEMI_READ8(bemi_known_ends[at + i]) >> 4) << BEMI_READ8(bemi_known_shifts[i]));
#else
    return BEMI_READ_KNOWN_END(bemi_known_ends[2 * (at + i) + 1]);
#endif
}

/* The label, or -1 if the row is unknown: if the sum of how far its features are outside the ranges of the class exceeds
   a threshold. */
static int bemi_known(const $kind *values, int label)
{
    int8_t features[BEMI_KNOWN_SINGLE + BEMI_KNOWN_PAIRS];
    const uint_fast16_t at = (uint_fast16_t)label * (BEMI_KNOWN_SINGLE + BEMI_KNOWN_PAIRS);
    uint32_t strangeness = 0;
    uint_fast8_t i;
    if (label < 0)
        return label;
    bemi_features(values, features);
    for (i = 0; i < BEMI_KNOWN_SINGLE + BEMI_KNOWN_PAIRS; i++) {
        const int feature = features[i], low = bemi_low(at, i), high = bemi_high(at, i);
        if (feature < low || feature > high) /* Rarely. */
            strangeness += (uint32_t)(feature < low ? low - feature : feature - high);
    }
    return strangeness > BEMI_KNOWN_LIMIT ? -1 : label;
}
