/* Histograms of oriented gradients.  Lines are made, blurred and pooled one by one, so no copy of the image is needed;
   only the two rows of regions that a line belongs to are in memory at a time.  Most of a line is often empty, so every
   line knows its span, the columns outside of which it is 0. */
typedef struct {
    uint_fast16_t first, end;
} bemi_span_t;

static uint_fast16_t bemi_level(bemi_input_t value)
{
#if BEMI_SATURATE
    if (value > BEMI_MAXIMUM)
        value = BEMI_MAXIMUM;
#endif
#if BEMI_SIGNED
    if (value < 0)
        value = 0;
#endif
    return BEMI_READ8(bemi_levels[value >> BEMI_LEVEL_SHIFT]);
}

/* The first pixel of a line. */
#define BEMI_LINE(x, r) ((x) + ((r) >> BEMI_DOUBLED) * (BEMI_GIVEN_WIDTH * BEMI_CHANNELS))
/* The first channel of a pixel of a line. */
#define BEMI_PLACE(c) (((c) >> BEMI_DOUBLED) * BEMI_CHANNELS)

#if BEMI_STRAIGHTEN
/* Division by 2^bits, rounded down, also of negative numbers above -2^19. */
static int_fast16_t bemi_shifted(int32_t value, uint_fast8_t bits)
{
    return (int_fast16_t)(((value + 524288) >> bits) - ((int32_t)524288 >> bits));
}

static uint_fast16_t bemi_mass(const bemi_input_t *pixel)
{
    uint_fast16_t sum = 0;
    uint_fast8_t channel;
    for (channel = 0; channel < BEMI_CHANNELS; channel++)
        sum += bemi_level(pixel[channel]);
    return sum >> BEMI_MASS_SHIFT;
}

/* Centre of mass along one side, in half pixels, by counting up instead of dividing. */
static uint_fast16_t bemi_centre(uint32_t moment, uint32_t mass)
{
    uint_fast16_t centre = 0;
    while ((uint32_t)(2 * centre + 1) * mass <= 4 * moment)
        centre++;
    return centre;
}

/* Shear in 1/64 pixel per line; the line of the centre, in half pixels, is stored in centre.  Moments about the centre
   follow from those about the corner, modulo 2^32. */
static int_fast16_t bemi_slant(const bemi_input_t *x, int_fast16_t *centre)
{
    uint32_t mass = 0, across = 0, down = 0, both = 0, square = 0, middle, size, vertical;
    int_fast16_t slant = 0;
    uint32_t r, c;
    uint_fast8_t leans_left;
    *centre = 0;
    for (r = 0; r < BEMI_HEIGHT; r++) {
        const bemi_input_t *pixels = BEMI_LINE(x, r);
        uint32_t line = 0, moment = 0;
        for (c = 0; c < BEMI_WIDTH; c++) {
            uint32_t weight = (uint32_t)bemi_mass(pixels + BEMI_PLACE(c));
            line += weight;
            moment += weight * c;
        }
        mass += line;
        across += moment;
        both += moment * r;
        line *= r;
        down += line;
        square += line * r;
    }
    if (mass == 0)
        return 0;
    middle = (uint32_t)bemi_centre(across, mass);
    size = (uint32_t)bemi_centre(down, mass);
    *centre = (int_fast16_t)size;
    vertical = 4 * square - 4 * size * down + size * size * mass;
    size = 4 * both - 2 * middle * down - 2 * size * across + middle * size * mass;
    leans_left = size >> 31 != 0;
    if (leans_left)
        size = 0 - size;
    if (size + size >= vertical)
        slant = 32;
    else
        for (r = 0; r < 6; r++) {
            size += size;
            slant += slant;
            if (size >= vertical) {
                size -= vertical;
                slant++;
            }
        }
    return leans_left ? -slant : slant;
}
#endif

static void bemi_set(uint8_t *line, uint_fast16_t place, uint_fast16_t value, bemi_span_t *span)
{
    line[place] = (uint8_t)value;
    if (place < span->first)
        span->first = place;
    if (place >= span->end)
        span->end = place + 1;
}

/* One line of the straightened image, into an array of zeros, and its span. */
static bemi_span_t bemi_line(const bemi_input_t *x, uint_fast16_t r, int_fast16_t slant, int_fast16_t centre,
                             uint8_t *line)
{
    bemi_span_t span = {BEMI_WIDTH, 0};
    uint_fast16_t c;
    uint_fast8_t channel;
#if BEMI_STRAIGHTEN
    int_fast16_t sixteenths = bemi_shifted((int32_t)slant * (int32_t)(2 * (int_fast16_t)r - centre) + 4, 3);
    int_fast16_t whole = bemi_shifted((int32_t)sixteenths, 4), part = sixteenths - 16 * whole;
#else
    (void)slant;
    (void)centre;
#endif
    for (channel = 0; channel < BEMI_CHANNELS; channel++, line += BEMI_WIDTH) {
        const bemi_input_t *pixels = BEMI_LINE(x, r) + channel;
#if BEMI_STRAIGHTEN
        /* A pixel between two places is divided among them; what the left place gets is known one step later. */
        uint_fast16_t before = 0;
        for (c = 0; c <= BEMI_WIDTH; c++) {
            uint_fast16_t value = c < BEMI_WIDTH ? bemi_level(pixels[BEMI_PLACE(c)]) : 0;
            if (before | value) {
                uint_fast16_t total = (uint_fast16_t)(16 - part) * before + (uint_fast16_t)part * value + 8;
                uint_fast16_t place = (uint_fast16_t)((int_fast16_t)c - whole - 1);
                before = value;
                /* Places left of the image are large numbers. */
                if (place < BEMI_WIDTH)
                    bemi_set(line, place, total >> 4, &span);
            }
        }
#else
        for (c = 0; c < BEMI_WIDTH; c++) {
            uint_fast16_t value = bemi_level(pixels[BEMI_PLACE(c)]);
            if (value)
                bemi_set(line, c, value, &span);
        }
#endif
    }
    return span;
}

static const bemi_span_t bemi_empty = {BEMI_WIDTH, 0};

/* Make a line 0 again.  Volatile, since a compiler may turn a plain loop into a call to memset. */
static void bemi_clear(volatile uint8_t *line, bemi_span_t *span)
{
    uint_fast16_t c;
    uint_fast8_t channel;
    for (channel = 0; channel < BEMI_CHANNELS; channel++, line += BEMI_WIDTH)
        for (c = span->first; c < span->end; c++)
            line[c] = 0;
    *span = bemi_empty;
}

static void bemi_clear_blurred(volatile int16_t *line, bemi_span_t *span)
{
    uint_fast16_t c;
    uint_fast8_t channel;
    for (channel = 0; channel < BEMI_CHANNELS; channel++, line += BEMI_WIDTH + 2)
        for (c = span->first; c < span->end; c++)
            line[c + 1] = 0;
    *span = bemi_empty;
}

/* The columns that three lines and their neighbours have. */
static bemi_span_t bemi_around(const bemi_span_t *spans)
{
    bemi_span_t span = {BEMI_WIDTH, 0};
    uint_fast8_t i;
    for (i = 0; i < 3; i++) {
        if (spans[i].first < span.first)
            span.first = spans[i].first;
        if (spans[i].end > span.end)
            span.end = spans[i].end;
    }
    if (span.end > 0) {
        span.first -= span.first > 0;
        span.end += span.end < BEMI_WIDTH;
    }
    return span;
}

/* Blur one line with its neighbours. */
static void bemi_blur(const uint8_t *above, const uint8_t *line, const uint8_t *below, bemi_span_t span,
                      int16_t *blurred)
{
    uint_fast16_t c;
    uint_fast8_t channel;
    for (channel = 0; channel < BEMI_CHANNELS; channel++) {
        uint_fast16_t left = 0, here = 0, at = (uint_fast16_t)channel * BEMI_WIDTH + span.first;
        int16_t *to = blurred + channel * (BEMI_WIDTH + 2) + span.first;
        if (span.first > 0)
            here = (uint_fast16_t)(above[at - 1] + 2 * line[at - 1] + below[at - 1]);
        for (c = span.first; c <= span.end; c++, at++) {
            uint_fast16_t right = 0;
            if (c < BEMI_WIDTH)
                right = (uint_fast16_t)(above[at] + 2 * line[at] + below[at]);
            if (c > span.first)
                *to = (int16_t)(left + 2 * here + right);
            to++;
            left = here;
            here = right;
        }
    }
}

/* Add a share of a gradient to two orientations of one region above and of one below. */
#define bemi_share(above_it, below_it, next, first, second, up, down) \
    do { \
        const int32_t one = first, other = second; \
        (above_it)[0] += (up) * one; \
        (above_it)[next] += (up) * other; \
        (below_it)[0] += (down) * one; \
        (below_it)[next] += (down) * other; \
    } while (0)

/* Distribute the gradients of one line over two orientations, two columns and two rows of regions. */
static void bemi_pool(const int16_t *above, const int16_t *line, const int16_t *below, bemi_span_t span, int32_t *upper,
                      int32_t *lower, int32_t up, int32_t down)
{
    uint_fast16_t c;
    for (c = span.first; c < span.end; c++) {
        int32_t gx = 0, gy = 0, first, second, weight;
        uint_fast16_t region = (c + 2) >> 2;
        uint_fast8_t orientation = 0;
        int_fast8_t next;
        int32_t *above_it, *below_it;
        const uint8_t *direction = bemi_directions;
#if BEMI_CHANNELS == 1
        gx = line[c + 2] - line[c];
        gy = below[c + 1] - above[c + 1];
        if (gx == 0 && gy == 0)
            continue;
#else
        uint_fast16_t largest = 0, at;
        for (at = c; at < BEMI_CHANNELS * (BEMI_WIDTH + 2); at += BEMI_WIDTH + 2) {
            int_fast16_t h = line[at + 2] - line[at], v = below[at + 1] - above[at + 1];
            uint_fast16_t m = (uint_fast16_t)(h < 0 ? -h : h), n = (uint_fast16_t)(v < 0 ? -v : v);
            uint_fast16_t size = m > n ? 2 * m + n : 2 * n + m;
            if (size > largest) {
                largest = size;
                gx = (int32_t)h;
                gy = (int32_t)v;
            }
        }
        if (largest == 0)
            continue;
#endif
        /* Turn into the quadrant from right to down. */
        if (gx <= 0 && gy > 0) {
            int32_t turned = -gx;
            gx = gy;
            gy = turned;
            orientation = BEMI_SECTORS;
        } else if (gx < 0) {
            gx = -gx;
            gy = -gy;
            orientation = 2 * BEMI_SECTORS;
        } else if (gy < 0) {
            int32_t turned = gx;
            gx = -gy;
            gy = turned;
            orientation = 3 * BEMI_SECTORS;
        }
        while ((first = gx * BEMI_READ8(direction[3]) - gy * BEMI_READ8(direction[2])) <= 0) {
            direction += 2;
            orientation++;
        }
        second = gy * BEMI_READ8(direction[0]) - gx * BEMI_READ8(direction[1]);
        /* The next orientation of the last one is the first. */
        next = orientation + 1 < BEMI_ORIENTATIONS ? 1 : 1 - BEMI_ORIENTATIONS;
        above_it = upper + region * BEMI_ORIENTATIONS + orientation;
        below_it = lower + region * BEMI_ORIENTATIONS + orientation;
        weight = 2 * (int32_t)((c + 2) & 3) + 1;
        if (region < BEMI_COLUMNS)
            bemi_share(above_it, below_it, next, weight * first, weight * second, up, down);
        if (region > 0) {
            weight = 8 - weight;
            bemi_share(above_it - BEMI_ORIENTATIONS, below_it - BEMI_ORIENTATIONS, next, weight * first,
                       weight * second, up, down);
        }
    }
}

/* One bit of a root, if it belongs to it. */
#define BEMI_ROOT_BIT(bit) \
    if ((uint32_t)(root + bit) * (root + bit) <= value) \
        root += bit;

/* Roots of the sums of one row of regions; the sums are then reset to 0. */
static void bemi_roots(int32_t *sums, bemi_value_t *z)
{
    /* Volatile, since a compiler may turn a plain zeroing loop into a call to memset. */
    volatile int32_t *cleared = sums;
    uint_fast16_t i;
    for (i = 0; i < BEMI_COLUMNS * BEMI_ORIENTATIONS; i++) {
        uint32_t value = (uint32_t)sums[i] >> BEMI_OUTPUT_SHIFT;
        uint_fast16_t root = 0;
        if (value >= 1024) {
            if (value >= 4096) {
                BEMI_ROOT_BIT(128)
                BEMI_ROOT_BIT(64)
            }
            BEMI_ROOT_BIT(32)
        }
        if (value) {
            if (value >= 64) {
                BEMI_ROOT_BIT(16)
                BEMI_ROOT_BIT(8)
            }
            BEMI_ROOT_BIT(4)
            BEMI_ROOT_BIT(2)
            BEMI_ROOT_BIT(1)
        }
        z[i] = (bemi_value_t)root;
        cleared[i] = 0;
    }
}

static void bemi_transform(const bemi_input_t *x, bemi_value_t *z)
{
    uint8_t lines[3][BEMI_CHANNELS * BEMI_WIDTH];
    int16_t blurred[3][BEMI_CHANNELS * (BEMI_WIDTH + 2)];
    int32_t sums[2][BEMI_COLUMNS * BEMI_ORIENTATIONS];
    bemi_span_t made[3], smooth[3];
    int_fast16_t slant = 0, centre = 0;
    uint_fast16_t r, i, region;
    volatile uint8_t *pixels = lines[0];
    volatile int16_t *smoothed = blurred[0];
    volatile int32_t *cleared = sums[0];
    for (i = 0; i < 3; i++)
        made[i] = smooth[i] = bemi_empty;
    for (i = 0; i < 3 * BEMI_CHANNELS * BEMI_WIDTH; i++)
        pixels[i] = 0;
    for (i = 0; i < 3 * BEMI_CHANNELS * (BEMI_WIDTH + 2); i++)
        smoothed[i] = 0;
    for (i = 0; i < 2 * BEMI_COLUMNS * BEMI_ORIENTATIONS; i++)
        cleared[i] = 0;
#if BEMI_STRAIGHTEN
    slant = bemi_slant(x, &centre);
#endif
    /* Line r is made, line r - 1 blurred, line r - 2 pooled; lines outside the image are 0. */
    for (r = 0; r < BEMI_HEIGHT + 2; r++) {
        uint_fast16_t newest = r % 3, middle = (r + 2) % 3, oldest = (r + 1) % 3;
        bemi_clear(lines[newest], &made[newest]);
        if (r < BEMI_HEIGHT)
            made[newest] = bemi_line(x, r, slant, centre, lines[newest]);
        bemi_clear_blurred(blurred[middle], &smooth[middle]);
        if (r >= 1 && r <= BEMI_HEIGHT) {
            smooth[middle] = bemi_around(made);
            bemi_blur(lines[oldest], lines[middle], lines[newest], smooth[middle], blurred[middle]);
        }
        if (r < 2)
            continue;
        region = r >> 2;
        bemi_pool(blurred[newest], blurred[oldest], blurred[middle], bemi_around(smooth), sums[(region - 1) & 1],
                  sums[region & 1], region >= 1 ? 7 - 2 * (int32_t)(r & 3) : 0,
                  region < BEMI_ROWS ? 2 * (int32_t)(r & 3) + 1 : 0);
        if (region >= 1 && ((r & 3) == 3 || r == BEMI_HEIGHT + 1)) {
            bemi_roots(sums[(region - 1) & 1], z);
            z += BEMI_COLUMNS * BEMI_ORIENTATIONS;
        }
    }
    region = (BEMI_HEIGHT + 1) >> 2;
    if (region < BEMI_ROWS)
        bemi_roots(sums[region & 1], z);
}
