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

#if BEMI_KNOWN_MARGINS
/* The smallest score by which a network prefers the class to another, in units of the network; 0 if one does not. */
static uint_fast8_t bemi_margin(const bemi_state_t *state, int label)
{
    const uint_fast16_t chosen = (uint_fast16_t)label;
    uint32_t least = 127;
    uint_fast16_t other;
    if (label < 0)
        return 0;
    for (other = 0; other < BEMI_CLASSES; other++) {
        const uint_fast16_t low = other < chosen ? other : chosen, network = bemi_pair(low, other + chosen - low);
        bemi_sum_t sum;
        uint32_t own;
        if (other == chosen)
            continue;
#if BEMI_KEEP_SUMS
        sum = state->sums[network];
#else
        sum = bemi_sum(state, network);
#endif
        if (other < chosen)
            sum = (bemi_sum_t)-sum;
        own = sum < 0 ? 0 : (uint32_t)sum >> BEMI_READ8(bemi_known_margin_halvings[network]);
        if (own < least)
            least = own;
    }
    return (uint_fast8_t)least;
}
#endif

#if BEMI_KNOWN_EXAMPLES
/* How far a row is from the nearest of some training rows. */
static uint_fast16_t bemi_apart(const int8_t *features)
{
    uint_fast16_t nearest = 65535U, example, at = 0;
    uint_fast8_t i;
    for (example = 0; example < BEMI_KNOWN_EXAMPLES; example++) {
        uint_fast16_t sum = 0;
        for (i = 0; i < BEMI_KNOWN_LOOKED_AT; i++, at++) {
            const int feature = features[BEMI_READ8(bemi_known_looked_at[i])];
            const int apart = feature - (int8_t)BEMI_READ8(bemi_known_examples[at]);
            sum += (uint_fast16_t)(apart < 0 ? -apart : apart);
        }
        if (sum < nearest)
            nearest = sum;
    }
    return nearest;
}
#endif

/* The label, or -1 if the row is unknown: if its features are outside the ranges of the class, its margin is small and
   it is far from all examples, by more than a threshold in all. */
static int bemi_known(const $kind *values, int label$margin)
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
    strangeness *= BEMI_KNOWN_OUTSIDE;
#if BEMI_KNOWN_MARGINS
    if (margin < BEMI_KNOWN_USUAL_MARGIN)
        strangeness += (uint32_t)(BEMI_KNOWN_LACKING * (uint_fast8_t)(BEMI_KNOWN_USUAL_MARGIN - margin));
#endif
#if BEMI_KNOWN_EXAMPLES
    strangeness += (uint32_t)(BEMI_KNOWN_DISTANCE * bemi_apart(features));
#endif
    return strangeness > BEMI_KNOWN_LIMIT ? -1 : label;
}
