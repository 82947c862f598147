/* How often levels, differences and kernels exceed thresholds, channel by channel.  Samples are not negative, BEMI_LIMIT
   stands for 0.  Where words have room, two neighbouring positions are computed at once, in the halves of a word: the
   sums below stay within 16 bits, and the top bit of a half says whether its position counts. */
#if BEMI_WIDE
#define BEMI_LANE uint32_t
#define BEMI_WORD uint32_t
#define BEMI_TOP 0x80000000UL
#else
#define BEMI_LANE uint16_t
#ifndef BEMI_PAIRS
#define BEMI_PAIRS (UINT_FAST16_MAX > 65535)
#endif
#endif
#if !BEMI_WIDE && BEMI_PAIRS
#define BEMI_WORD uint32_t
#define BEMI_LANES 2
#define BEMI_TOP 0x80008000UL
#define BEMI_BOTH(value) ((uint32_t)(value) * 0x00010001UL)
#define BEMI_LOAD(place) ((uint32_t)(place)[0] | (uint32_t)(place)[1] << 16)
#else
#define BEMI_LANES 1
#define BEMI_BOTH(value) (value)
#define BEMI_LOAD(place) ((BEMI_WORD)(place)[0])
#endif
#ifndef BEMI_TOP
#define BEMI_WORD uint16_t
#define BEMI_TOP 0x8000U
#endif
#define BEMI_SHIFT (8 * sizeof(BEMI_LANE) - 1)

/* Samples of a channel. */
static void bemi_samples(const bemi_input_t *x, uint_fast16_t channel, uint16_t *samples)
{
    const int32_t low = (int32_t)BEMI_READ32(bemi_lowest[channel]);
    const uint_fast8_t shift = BEMI_READ8(bemi_shifts[channel]);
    uint_fast16_t t;
    for (t = 0; t < BEMI_TIME; t++, x += BEMI_CHANNELS) {
        uint32_t above = 0;
        if (*x > low)
            above = ((uint32_t)*x - (uint32_t)low) >> shift;
        samples[t] = (uint16_t)(above > 2 * BEMI_LIMIT ? 2 * BEMI_LIMIT : above);
    }
}

/* An output from counts in the parts of a word. */
static bemi_value_t bemi_output(BEMI_WORD counts, uint_fast16_t output)
{
    int_fast16_t value;
#if BEMI_LANES == 2
    counts = (counts & 65535) + (counts >> 16);
#endif
    value = (int_fast16_t)(counts >> BEMI_COUNT_SHIFT) - BEMI_READ8(bemi_means[output]);
    value *= BEMI_READ8(bemi_factors[output]);
    return (bemi_value_t)(value > 127 ? 127 : value < -127 ? -127 : value);
}

/* A level, difference or curvature plus 4 BEMI_LIMIT at each position; returns the number of words. */
static uint_fast16_t bemi_differences(const uint16_t *s, uint_fast8_t order, uint_fast16_t distance, BEMI_WORD *to)
{
    const uint_fast16_t positions = BEMI_TIME - order * distance, words = (positions + BEMI_LANES - 1) / BEMI_LANES;
    const uint16_t *far = s + distance, *farther = far + distance;
    uint_fast16_t i = words;
    if (order == 0)
        for (; i > 0; i--, s += BEMI_LANES)
            *to++ = BEMI_LOAD(s) + BEMI_BOTH(3 * BEMI_LIMIT);
    else if (order == 1)
        for (; i > 0; i--, s += BEMI_LANES, far += BEMI_LANES)
            *to++ = BEMI_LOAD(far) - BEMI_LOAD(s) + BEMI_BOTH(4 * BEMI_LIMIT);
    else
        for (; i > 0; i--, s += BEMI_LANES, far += BEMI_LANES, farther += BEMI_LANES)
            *to++ = BEMI_LOAD(s) - 2 * BEMI_LOAD(far) + BEMI_LOAD(farther) + BEMI_BOTH(4 * BEMI_LIMIT);
#if BEMI_LANES == 2
    /* The smallest response exceeds no threshold. */
    if (positions & 1)
        to[-1] &= 65535;
#endif
    return words;
}

/* Eight outputs, four at a time, which is what the registers of a Cortex-M3 have room for. */
static void bemi_levels(const BEMI_WORD *responses, uint_fast16_t words, uint_fast16_t output, bemi_value_t *z)
{
    /* Volatile, since a compiler that knows the bits shifts them before it selects them, which takes one step more. */
    const volatile BEMI_WORD bits = BEMI_TOP;
    const BEMI_WORD top = bits;
    uint_fast8_t half;
    for (half = 0; half < 2; half++, output += 4) {
        const BEMI_WORD k = BEMI_BOTH(BEMI_READ_LIMIT(bemi_limits[output]));
        const BEMI_WORD l = BEMI_BOTH(BEMI_READ_LIMIT(bemi_limits[output + 1]));
        const BEMI_WORD m = BEMI_BOTH(BEMI_READ_LIMIT(bemi_limits[output + 2]));
        const BEMI_WORD n = BEMI_BOTH(BEMI_READ_LIMIT(bemi_limits[output + 3]));
        BEMI_WORD a = 0, b = 0, c = 0, d = 0;
        const BEMI_WORD *place = responses;
        uint_fast16_t left = words;
        do {
            const BEMI_WORD response = *place++;
            a += ((response + k) & top) >> BEMI_SHIFT;
            b += ((response + l) & top) >> BEMI_SHIFT;
            c += ((response + m) & top) >> BEMI_SHIFT;
            d += ((response + n) & top) >> BEMI_SHIFT;
        } while (--left);
        z[output] = bemi_output(a, output);
        z[output + 1] = bemi_output(b, output + 1);
        z[output + 2] = bemi_output(c, output + 2);
        z[output + 3] = bemi_output(d, output + 3);
    }
}

#if BEMI_ROCKET
/* A third of the sum of the nine taps at each position, rounded down; s is where the first tap begins. */
static void bemi_thirds(const uint16_t *s, uint_fast16_t dilation, BEMI_WORD *to)
{
    uint_fast16_t i;
    for (i = 0; i < (BEMI_TIME + BEMI_LANES - 1) / BEMI_LANES; i++, s += BEMI_LANES) {
        const uint16_t *tap = s;
        BEMI_WORD sum = BEMI_LOAD(tap);
        uint_fast8_t more;
        for (more = 4; more > 0; more--) {
            tap += dilation;
            sum += BEMI_LOAD(tap);
            tap += dilation;
            sum += BEMI_LOAD(tap);
        }
#if BEMI_WIDE
        *to++ = sum / 3;
#else
        /* 43691 / 2^17 is a third of every number of 16 bits. */
#if BEMI_LANES == 2
        *to++ = ((sum & 65535) * 43691UL >> 17) | ((sum >> 16) * 43691UL >> 17) << 16;
#else
        *to++ = (BEMI_WORD)((uint32_t)sum * 43691UL >> 17);
#endif
#endif
    }
}

/* The output of a kernel. */
static bemi_value_t bemi_kernel(const uint16_t *s, uint_fast16_t dilation, const BEMI_WORD *thirds, uint_fast16_t output)
{
    const volatile BEMI_WORD bits = BEMI_TOP;
    const BEMI_WORD top = bits;
    const uint_fast16_t taps = BEMI_READ16(bemi_kernels[(output - BEMI_FIRST) / BEMI_PER_KERNEL]);
    const uint16_t *a = s + (taps & 15) * dilation, *b = s + (taps >> 4 & 15) * dilation, *c = s + (taps >> 8) * dilation;
    const BEMI_WORD limit = BEMI_READ_LIMIT(bemi_limits[output]), k = BEMI_BOTH(limit);
    BEMI_WORD count = 0;
    uint_fast16_t left = BEMI_TIME / BEMI_LANES;
    do {
        count += ((BEMI_LOAD(a) + BEMI_LOAD(b) + BEMI_LOAD(c) - *thirds++ + k) & top) >> BEMI_SHIFT;
        a += BEMI_LANES;
        b += BEMI_LANES;
        c += BEMI_LANES;
    } while (--left);
#if BEMI_TIME % BEMI_LANES
    count += ((*a + *b + *c - *thirds + limit) & 0x8000U) >> 15;
#endif
    return bemi_output(count, output);
}
#endif

static void bemi_transform(const bemi_input_t *x, bemi_value_t *z)
{
    /* Outside the window samples are 0; a word may reach one sample further. */
    uint16_t padded[BEMI_MARGIN + BEMI_TIME + BEMI_MARGIN + 1], *const samples = padded + BEMI_MARGIN;
    BEMI_WORD responses[(BEMI_TIME + BEMI_LANES - 1) / BEMI_LANES];
    uint_fast16_t channel, i, output = 0;
    for (i = 0; i < BEMI_MARGIN + BEMI_TIME + BEMI_MARGIN + 1; i++)
        padded[i] = BEMI_LIMIT;
    for (channel = 0; channel < BEMI_CHANNELS; channel++) {
        bemi_samples(x + channel, channel, samples);
        for (i = 0; i < BEMI_DIFFERENCES; i++, output += 8) {
            const uint_fast16_t distance = BEMI_READ16(bemi_distances[i]);
            const uint_fast8_t order = BEMI_READ8(bemi_orders[i]);
            bemi_levels(responses, bemi_differences(samples, order, distance, responses), output, z);
        }
#if BEMI_ROCKET
        for (i = 0; i < BEMI_DILATIONS; i++) {
            const uint_fast16_t dilation = BEMI_READ16(bemi_dilations[i]), way = i * BEMI_CHANNELS + channel;
            const uint16_t *const first = samples - 4 * dilation;
            uint_fast16_t own = (uint_fast16_t)((uint32_t)way * BEMI_INVERSE % BEMI_WAYS);
            if (own < BEMI_ROCKET)
                bemi_thirds(first, dilation, responses);
            for (; own < BEMI_ROCKET; own += BEMI_WAYS)
                z[BEMI_FIRST + own] = bemi_kernel(first, dilation, responses, BEMI_FIRST + own);
        }
#endif
    }
}
