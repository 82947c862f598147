/* How often levels, differences and kernels exceed thresholds, channel by channel.  Samples are not negative: the
   value 0 is BEMI_LIMIT.  Where words have room, two neighbouring positions are computed at once, in the halves of a
   word: sums stay within 16 bits, and the top bit of a half says whether its position counts. */
#ifndef BEMI_PAIRS
#define BEMI_PAIRS (UINT_FAST16_MAX > 65535)
#endif
#if BEMI_WIDE
#define BEMI_LANES 1
#define BEMI_LANE uint32_t
#define BEMI_WORD uint32_t
#define BEMI_TOP 0x80000000UL
#elif BEMI_PAIRS
#define BEMI_LANES 2
#define BEMI_LANE uint16_t
#define BEMI_WORD uint32_t
#define BEMI_TOP 0x80008000UL
#else
#define BEMI_LANES 1
#define BEMI_LANE uint16_t
#define BEMI_WORD uint_fast16_t
#define BEMI_TOP 0x8000U
#endif
#if BEMI_LANES == 1
#define BEMI_BOTH(value) (value)
#define BEMI_LOAD(place) ((BEMI_WORD)(place)[0])
#define BEMI_STORE(place, word) ((place)[0] = (BEMI_LANE)(word))
#else
#define BEMI_BOTH(value) ((uint32_t)(value) * 0x00010001UL)
#if defined(__ARM_FEATURE_UNALIGNED) && defined(__GNUC__)
/* One instruction, wherever the word lies. */
static inline uint32_t bemi_word(const uint16_t *place)
{
    uint32_t word;
    __builtin_memcpy(&word, place, sizeof word);
    return word;
}
#define BEMI_LOAD(place) bemi_word(place)
#define BEMI_STORE(place, word) __builtin_memcpy(place, &(word), sizeof(word))
#else
#define BEMI_LOAD(place) ((uint32_t)(place)[0] | (uint32_t)(place)[1] << 16)
#define BEMI_STORE(place, word) ((place)[0] = (uint16_t)(word), (place)[1] = (uint16_t)((word) >> 16))
#endif
#endif
#define BEMI_SHIFT (8 * sizeof(BEMI_LANE) - 1)
#define BEMI_WORDS ((BEMI_TIME + BEMI_LANES - 1) / BEMI_LANES)

/* Small devices have few registers.  Loops in functions of their own have all of them. */
#ifndef BEMI_APART
#ifdef __GNUC__
#define BEMI_APART __attribute__((noinline))
#else
#define BEMI_APART
#endif
#endif

/* Samples of a channel, from the oldest to the end of the array and then from its start. */
static BEMI_APART void bemi_samples(const bemi_input_t *x, uint_fast16_t oldest, uint_fast16_t channel,
                                    uint16_t *samples)
{
    const int32_t low = (int32_t)BEMI_READ32(bemi_lowest[channel]);
    const uint_fast8_t shift = BEMI_READ8(bemi_shifts[channel]);
    uint_fast16_t at = oldest * BEMI_CHANNELS + channel, left = BEMI_TIME;
    do {
        const int32_t reading = x[at];
        uint32_t above = 0;
        if (reading > low)
            above = ((uint32_t)reading - (uint32_t)low) >> shift;
        *samples++ = (uint16_t)(above > 2 * BEMI_LIMIT ? 2 * BEMI_LIMIT : above);
        at += BEMI_CHANNELS;
        if (at >= BEMI_TIME * BEMI_CHANNELS)
            at = channel;
    } while (--left);
}

/* A level, difference or curvature plus BEMI_OFFSET at each position. */
static BEMI_APART void bemi_differences(const uint16_t *s, uint_fast8_t order, uint_fast16_t distance,
                                        uint_fast16_t words, BEMI_LANE *to)
{
    const uint16_t *far = s + distance;
    if (order == 0)
        do {
            const BEMI_WORD response = BEMI_LOAD(s) + BEMI_BOTH(BEMI_OFFSET - BEMI_LIMIT);
            BEMI_STORE(to, response);
            s += BEMI_LANES;
            to += BEMI_LANES;
        } while (--words);
    else if (order == 1)
        do {
            const BEMI_WORD response = BEMI_LOAD(far) - BEMI_LOAD(s) + BEMI_BOTH(BEMI_OFFSET);
            BEMI_STORE(to, response);
            s += BEMI_LANES;
            far += BEMI_LANES;
            to += BEMI_LANES;
        } while (--words);
    else
        do {
            const BEMI_WORD ends = BEMI_LOAD(s) + BEMI_LOAD(far + distance);
            const BEMI_WORD response = ends - 2 * BEMI_LOAD(far) + BEMI_BOTH(BEMI_OFFSET);
            BEMI_STORE(to, response);
            s += BEMI_LANES;
            far += BEMI_LANES;
            to += BEMI_LANES;
        } while (--words);
}

/* Replaces four limits by the counts of responses beyond them; a Cortex-M3 has registers for no more. */
static BEMI_APART void bemi_counts(const BEMI_LANE *response, uint_fast16_t words, BEMI_WORD *four)
{
    /* Volatile, since a compiler that knows the bits shifts them before it selects them, which takes one step more. */
    const volatile BEMI_WORD bits = BEMI_TOP;
    const BEMI_WORD top = bits, k = four[0], l = four[1], m = four[2], n = four[3];
    BEMI_WORD a = 0, b = 0, c = 0, d = 0;
    do {
        const BEMI_WORD here = BEMI_LOAD(response);
        response += BEMI_LANES;
        a += ((here + k) & top) >> BEMI_SHIFT;
        b += ((here + l) & top) >> BEMI_SHIFT;
        c += ((here + m) & top) >> BEMI_SHIFT;
        d += ((here + n) & top) >> BEMI_SHIFT;
    } while (--words);
    four[0] = a;
    four[1] = b;
    four[2] = c;
    four[3] = d;
}

/* What takes the outputs: an array, or sums that grow by eight of them at a time, each plus 127. */
#if BEMI_LOTS
typedef struct {
    bemi_sum_t *sums;
    uint_fast16_t count;
    uint8_t eight[8];
} bemi_to_t;
#define BEMI_TO bemi_sum_t
#else
typedef struct {
    bemi_value_t *z;
} bemi_to_t;
#define BEMI_TO bemi_value_t
#endif

/* Makes an output from counts in the parts of a word. */
static void bemi_give(bemi_to_t *to, BEMI_WORD counts, uint_fast16_t output)
{
    int_fast16_t value;
#if BEMI_LANES == 2
    counts = (counts & 65535) + (counts >> 16);
#endif
    value = (int_fast16_t)(counts >> BEMI_COUNT_SHIFT) - BEMI_READ8(bemi_means[output]);
    value *= BEMI_READ8(bemi_factors[output]);
    value = value > 127 ? 127 : value < -127 ? -127 : value;
#if BEMI_LOTS
    to->eight[to->count++ & 7] = (uint8_t)(value + 127);
    if ((to->count & 7) == 0)
        bemi_take(to->sums, (to->count >> 3) - 1, to->eight);
#else
    to->z[output] = (bemi_value_t)value;
#endif
}

#if BEMI_ROCKET
#if BEMI_WIDE
#define BEMI_THIRD(sum) ((sum) / 3)
#else
/* 43691 / 2^17 is a third of every number of 16 bits. */
#define BEMI_THIRD(sum) ((uint32_t)(sum) * 43691UL >> 17)
#endif

/* A third of the sum of the nine taps at each position, rounded down; s is where the first tap begins.  Positions go from
   one to the next at a distance of one dilation, where the sum loses its first tap and gets one more. */
static BEMI_APART void bemi_thirds(const uint16_t *s, uint_fast16_t dilation, BEMI_LANE *to)
{
    uint_fast16_t first, place, tap;
    for (first = 0; first < dilation; first++) {
        const uint16_t *before = s + first, *next = before + 9 * dilation;
        BEMI_WORD sum = 0;
        for (tap = 0; tap < 9 * dilation; tap += dilation)
            sum += before[tap];
        to[first] = (BEMI_LANE)BEMI_THIRD(sum);
        for (place = first + dilation; place < BEMI_TIME; place += dilation) {
            sum -= *before;
            sum += *next;
            to[place] = (BEMI_LANE)BEMI_THIRD(sum);
            before += dilation;
            next += dilation;
        }
    }
}

#define BEMI_STEP(i)                                         \
    response = k - BEMI_LOAD(thirds + (i) * BEMI_LANES);     \
    response += BEMI_LOAD(a + (i) * BEMI_LANES);             \
    response += BEMI_LOAD(b + (i) * BEMI_LANES);             \
    response += BEMI_LOAD(c + (i) * BEMI_LANES);             \
    count += (response & top) >> BEMI_SHIFT;

/* Counts of positions at which three taps exceed the thirds by more than the limit says. */
static BEMI_APART BEMI_WORD bemi_kernel(const uint16_t *a, const uint16_t *b, const uint16_t *c,
                                        const BEMI_LANE *thirds, BEMI_WORD k)
{
    const volatile BEMI_WORD bits = BEMI_TOP;
    const BEMI_WORD top = bits;
    BEMI_WORD count = 0, response;
    uint_fast16_t left = BEMI_TIME / BEMI_LANES;
    while (left >= 8) {
        BEMI_STEP(0)
        BEMI_STEP(1)
        BEMI_STEP(2)
        BEMI_STEP(3)
        BEMI_STEP(4)
        BEMI_STEP(5)
        BEMI_STEP(6)
        BEMI_STEP(7)
        a += 8 * BEMI_LANES;
        b += 8 * BEMI_LANES;
        c += 8 * BEMI_LANES;
        thirds += 8 * BEMI_LANES;
        left -= 8;
    }
    for (; left > 0; left--) {
        BEMI_STEP(0)
        a += BEMI_LANES;
        b += BEMI_LANES;
        c += BEMI_LANES;
        thirds += BEMI_LANES;
    }
#if BEMI_TIME % BEMI_LANES
    count += ((k - *thirds + *a + *b + *c) & 0x8000U) >> 15;
#endif
    return count;
}

/* The kernels of one dilation in one channel. */
static void bemi_rocket(const uint16_t *samples, uint_fast16_t dilation, uint_fast16_t way, BEMI_LANE *thirds,
                        bemi_to_t *to)
{
    uint_fast16_t own = (uint_fast16_t)((uint32_t)way * BEMI_INVERSE % BEMI_WAYS);
    samples -= 4 * dilation;
    if (own < BEMI_ROCKET)
        bemi_thirds(samples, dilation, thirds);
    for (; own < BEMI_ROCKET; own += BEMI_WAYS) {
        const uint_fast16_t taps = BEMI_READ16(bemi_kernels[own / BEMI_PER_KERNEL]), output = BEMI_FIRST + own;
        const uint16_t *const a = samples + (taps & 15) * dilation, *const b = samples + (taps >> 4 & 15) * dilation;
        const BEMI_WORD k = BEMI_BOTH(BEMI_READ_LIMIT(bemi_limits[output]));
        bemi_give(to, bemi_kernel(a, b, samples + (taps >> 8) * dilation, thirds, k), output);
    }
}
#endif

#if BEMI_SUMMED
/* Means of the eight outputs of a level or difference: those of its lower thresholds negative, and all as they are. */
static void bemi_summaries(const bemi_to_t *to, uint_fast16_t first, int8_t *summed)
{
    uint_fast8_t higher = BEMI_READ8(bemi_higher[first / 8]), i;
    int_fast16_t width = 0, height = 0;
    for (i = 0; i < 8; i++, higher >>= 1) {
#if BEMI_LOTS
        /* The last eight outputs are still there; after as many, the next place is that of the first. */
        const int_fast16_t value = (int_fast16_t)to->eight[(to->count + i) & 7] - 127;
#else
        const int_fast16_t value = (int_fast16_t)to->z[first + i];
#endif
        height += value;
        width += higher & 1 ? value : -value;
    }
    summed[first / 4] = (int8_t)(width / 8);
    summed[first / 4 + 1] = (int8_t)(height / 8);
}
#endif

/* Outputs of a window whose oldest sample need not be the first. */
#if BEMI_SUMMED
static void bemi_window(const bemi_input_t *x, uint_fast16_t oldest, BEMI_TO *outputs, int8_t *summed)
#else
static void bemi_window(const bemi_input_t *x, uint_fast16_t oldest, BEMI_TO *outputs)
#endif
{
    /* Outside the window samples are 0; a word may reach one sample further. */
    uint16_t padded[BEMI_MARGIN + BEMI_TIME + BEMI_MARGIN + 1], *const samples = padded + BEMI_MARGIN;
    BEMI_LANE responses[BEMI_WORDS * BEMI_LANES];
    BEMI_WORD four[4];
    uint_fast16_t channel, i, output = 0;
    bemi_to_t to;
#if BEMI_LOTS
    to.sums = outputs;
    to.count = 0;
#else
    to.z = outputs;
#endif
    for (i = 0; i < BEMI_MARGIN + BEMI_TIME + BEMI_MARGIN + 1; i++)
        padded[i] = BEMI_LIMIT;
    for (channel = 0; channel < BEMI_CHANNELS; channel++) {
        bemi_samples(x, oldest, channel, samples);
        for (i = 0; i < BEMI_DIFFERENCES; i++) {
            const uint_fast16_t distance = BEMI_READ16(bemi_distances[i]);
            const uint_fast8_t order = BEMI_READ8(bemi_orders[i]);
            const uint_fast16_t positions = BEMI_TIME - order * distance, end = output + 8;
            const uint_fast16_t words = (positions + BEMI_LANES - 1) / BEMI_LANES;
            bemi_differences(samples, order, distance, words, responses);
#if BEMI_LANES == 2
            /* The smallest response exceeds no threshold. */
            if (positions & 1)
                responses[positions] = 0;
#endif
            while (output < end) {
                uint_fast8_t place;
                for (place = 0; place < 4; place++)
                    four[place] = BEMI_BOTH(BEMI_READ_LIMIT(bemi_limits[output + place]));
                bemi_counts(responses, words, four);
                for (place = 0; place < 4; place++, output++)
                    bemi_give(&to, four[place], output);
            }
#if BEMI_SUMMED
            bemi_summaries(&to, output - 8, summed);
#endif
        }
#if BEMI_ROCKET
        for (i = 0; i < BEMI_DILATIONS; i++)
            bemi_rocket(samples, BEMI_READ16(bemi_dilations[i]), i * BEMI_CHANNELS + channel, responses, &to);
#endif
    }
#if !BEMI_LOTS
    {
        /* Volatile, since a compiler may turn the loop into a call of memset. */
        volatile bemi_value_t *constants = outputs + BEMI_COUNTS;
        for (i = 0; i < BEMI_CONSTANTS; i++)
            constants[i] = 127;
    }
#elif BEMI_ROCKET % 8
    while (to.count & 7)
        to.eight[to.count++ & 7] = 0;
    bemi_take(to.sums, (to.count >> 3) - 1, to.eight);
#endif
}
