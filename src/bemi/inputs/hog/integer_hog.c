/* Histograms of oriented gradients.  Lines are made, blurred and pooled one by one, so no copy of the image is needed;
   only the two rows of regions that a line belongs to are in memory at a time.  Most of a line is often empty, so every
   line knows its span, the columns outside of which it is 0. */
typedef struct {
    uint_fast16_t first, end;
} bemi_span_t;

/* Inside another function, a loop would have to share its registers. */
#ifdef __GNUC__
#define BEMI_APART static __attribute__((noinline))
#else
#define BEMI_APART static
#endif

/* The value of a pixel within what the model takes. */
static bemi_input_t bemi_pixel(bemi_input_t value)
{
#if BEMI_SATURATE
    if (value > BEMI_MAXIMUM)
        value = BEMI_MAXIMUM;
#endif
#if BEMI_SIGNED
    if (value < 0)
        value = 0;
#endif
    return value;
}

static uint_fast16_t bemi_level(bemi_input_t value)
{
    return BEMI_READ8(bemi_levels[bemi_pixel(value) >> BEMI_LEVEL_SHIFT]);
}

/* The first pixel of a line. */
#define BEMI_LINE(x, r) ((x) + ((r) >> BEMI_DOUBLED) * (BEMI_GIVEN_WIDTH * BEMI_CHANNELS))
/* The first channel of a pixel of a line. */
#define BEMI_PLACE(c) (((c) >> BEMI_DOUBLED) * BEMI_CHANNELS)

/* The first pixel of a line of the given image that is not 0, and the end of the last; both 0 if there is none. */
typedef struct {
    bemi_column_t first, end;
} bemi_ends_t;
#define BEMI_FIRST(ends, r) ((uint_fast16_t)((ends)[(r) >> BEMI_DOUBLED].first) << BEMI_DOUBLED)
#define BEMI_END(ends, r) ((uint_fast16_t)((ends)[(r) >> BEMI_DOUBLED].end) << BEMI_DOUBLED)

BEMI_APART void bemi_find_ends(const bemi_input_t *x, bemi_ends_t *ends)
{
    uint_fast16_t r;
    for (r = 0; r < BEMI_GIVEN_HEIGHT; r++, ends++) {
        uint_fast16_t end = BEMI_GIVEN_WIDTH * BEMI_CHANNELS, first = 0;
        do
            end--;
        while (end > 0 && x[end] == 0);
        while (first < end && x[first] == 0)
            first++;
        ends->first = (bemi_column_t)(first / BEMI_CHANNELS);
        ends->end = (bemi_column_t)(x[end] == 0 ? 0 : end / BEMI_CHANNELS + 1);
        x += BEMI_GIVEN_WIDTH * BEMI_CHANNELS;
    }
}

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
BEMI_APART int_fast16_t bemi_slant(const bemi_input_t *x, const bemi_ends_t *ends, int_fast16_t *centre)
{
    uint32_t mass = 0, across = 0, down = 0, both = 0, square = 0, middle, size, vertical;
    int_fast16_t slant = 0;
    uint32_t r, c;
    uint_fast8_t leans_left;
    *centre = 0;
    for (r = 0; r < BEMI_HEIGHT; r++) {
        const bemi_input_t *pixels = BEMI_LINE(x, r);
        const uint32_t end = (uint32_t)BEMI_END(ends, r);
        uint32_t line = 0, moment = 0;
        for (c = (uint32_t)BEMI_FIRST(ends, r); c < end; c++) {
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

/* One line of the straightened image, and the columns outside of which it is 0, in place of an earlier line.  Lines
   below the image are empty. */
BEMI_APART void bemi_line(const bemi_input_t *pixels, const bemi_ends_t *ends, uint_fast16_t r, int_fast16_t shift,
                          uint8_t *line, bemi_span_t *span)
{
    int_fast16_t begin = 0, stop = 0, first, end;
    uint_fast8_t channel;
#if BEMI_STRAIGHTEN
    const int_fast16_t whole = bemi_shifted((int32_t)shift, 4), part = shift - 16 * whole;
#else
    (void)shift;
#endif
    if (r < BEMI_HEIGHT) {
        begin = (int_fast16_t)BEMI_FIRST(ends, r);
        stop = (int_fast16_t)BEMI_END(ends, r);
    }
    first = begin;
    end = stop;
#if BEMI_STRAIGHTEN
    /* A pixel between two places is divided among them, so there is one place more. */
    first = begin - whole - 1;
    if (first < 0)
        first = 0;
    end = stop - whole;
    if (end > BEMI_WIDTH)
        end = BEMI_WIDTH;
#endif
    if (begin >= stop || first >= end) {
        first = BEMI_WIDTH;
        end = 0;
    }
    for (channel = 0; channel < BEMI_CHANNELS; channel++, pixels++, line += BEMI_WIDTH + 2) {
        /* Volatile, since a compiler may turn a plain zeroing loop into a call to memset. */
        volatile uint8_t *cleared = line + 1;
        uint8_t *to = line + 1 + first, *const last = line + 1 + end;
        int_fast16_t c;
        for (c = (int_fast16_t)span->first; c < first && c < (int_fast16_t)span->end; c++)
            cleared[c] = 0;
        for (c = end; c < (int_fast16_t)span->end; c++)
            cleared[c] = 0;
        if (to >= last)
            continue;
#if BEMI_STRAIGHTEN
        {
            int_fast16_t before = 0;
            c = first + whole;
            if (c >= begin)
                before = (int_fast16_t)bemi_level(pixels[BEMI_PLACE(c)]);
            do {
                int_fast16_t value = 0;
                if (++c < stop)
                    value = (int_fast16_t)bemi_level(pixels[BEMI_PLACE(c)]);
                *to++ = (uint8_t)((16 * before + part * (value - before) + 8) >> 4);
                before = value;
            } while (to < last);
        }
#else
        c = begin;
        do
            *to++ = (uint8_t)bemi_level(pixels[BEMI_PLACE(c)]);
        while (c++, to < last);
#endif
    }
    span->first = (uint_fast16_t)first;
    span->end = (uint_fast16_t)end;
}

static const bemi_span_t bemi_empty = {BEMI_WIDTH, 0};

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

/* Blur one line with its neighbours, from one column to another. */
BEMI_APART void bemi_blur(const uint8_t *above, const uint8_t *line, const uint8_t *below, uint_fast16_t first,
                          uint_fast16_t end, int16_t *blurred)
{
    uint_fast8_t channel;
    if (first >= end)
        return;
    for (channel = 0; channel < BEMI_CHANNELS; channel++) {
        uint_fast16_t at = (uint_fast16_t)channel * (BEMI_WIDTH + 2) + first;
        const uint_fast16_t last = at + end - first;
        uint_fast16_t left = (uint_fast16_t)(above[at] + 2 * line[at] + below[at]);
        uint_fast16_t here = (uint_fast16_t)(above[at + 1] + 2 * line[at + 1] + below[at + 1]);
        do {
            const uint_fast16_t right = (uint_fast16_t)(above[at + 2] + 2 * line[at + 2] + below[at + 2]);
            at++;
            blurred[at] = (int16_t)(left + 2 * here + right);
            left = here;
            here = right;
        } while (at < last);
    }
}

/* A region's sums: one for each orientation, and again the first, so that every orientation has a next one. */
#define BEMI_BINS (BEMI_ORIENTATIONS + 1)

/* Add a gradient to two orientations of a region and of the region to the right. */
#define bemi_add(to, left, right) \
    do { \
        (to)[0] += (uint32_t)((left) * first); \
        (to)[1] += (uint32_t)((left) * second); \
        (to)[BEMI_BINS] += (uint32_t)((right) * first); \
        (to)[BEMI_BINS + 1] += (uint32_t)((right) * second); \
    } while (0)

/* The gradient at a place of a line; of several channels the largest, by about its length. */
#if BEMI_CHANNELS == 1
#define BEMI_GRADIENT \
    gx = line[2] - line[0]; \
    gy = line[below] - line[above];
#else
#define BEMI_GRADIENT \
    { \
        const int16_t *own = line; \
        uint_fast16_t largest = 0, channel; \
        gx = gy = 0; \
        for (channel = 0; channel < BEMI_CHANNELS; channel++, own += BEMI_WIDTH + 2) { \
            const int_fast16_t h = own[2] - own[0], v = own[below] - own[above]; \
            const uint_fast16_t m = (uint_fast16_t)(h < 0 ? -h : h), n = (uint_fast16_t)(v < 0 ? -v : v); \
            const uint_fast16_t size = m > n ? 2 * m + n : 2 * n + m; \
            if (size > largest) { \
                largest = size; \
                gx = h; \
                gy = v; \
            } \
        } \
    }
#endif

/* Distribute the gradients of one line over two orientations, two columns and two rows of regions.  The lines above and
   below, and the lower row of regions, are so far from the line and from the upper row. */
BEMI_APART void bemi_pool(const int16_t *line, int_fast16_t above, int_fast16_t below, bemi_span_t span, uint32_t *upper,
                          int_fast16_t lower, int32_t up)
{
    const int16_t *end = line + span.end;
    int32_t right = 2 * (int32_t)((span.first + 2) & 3) + 1;
    upper += ((span.first + 2) >> 2) * BEMI_BINS;
    for (line += span.first; line < end; line++, right += 2) {
        int_fast16_t gx, gy, turned;
        int32_t first, second, left;
        uint32_t *to;
        const uint8_t *direction = bemi_directions;
        if (right > 7) {
            right = 1;
            upper += BEMI_BINS;
        }
        BEMI_GRADIENT
        if ((gx | gy) == 0)
            continue;
        /* Turn into the quadrant from right to down. */
        turned = gx;
        to = upper;
        if (gx <= 0 && gy > 0) {
            gx = gy;
            gy = -turned;
            to += BEMI_SECTORS;
        } else if (gx < 0) {
            gx = -gx;
            gy = -gy;
            to += 2 * BEMI_SECTORS;
        } else if (gy < 0) {
            gx = -gy;
            gy = turned;
            to += 3 * BEMI_SECTORS;
        }
#if BEMI_SECTORS % 2 == 0
        /* The direction in the middle is halfway between right and down. */
        if (gy >= gx) {
            direction += BEMI_SECTORS;
            to += BEMI_SECTORS / 2;
        }
#endif
        /* A direction gets how far the gradient is from the next one, which gets how far it is from this one. */
        second = (int32_t)gy * BEMI_READ8(direction[0]) - (int32_t)gx * BEMI_READ8(direction[1]);
        while ((first = (int32_t)gx * BEMI_READ8(direction[3]) - (int32_t)gy * BEMI_READ8(direction[2])) <= 0) {
            second = -first;
            direction += 2;
            to++;
        }
        left = 8 - right;
        bemi_add(to, up * left, up * right);
        to += lower;
        bemi_add(to, 8 * left - up * left, 8 * right - up * right);
    }
}

/* The root of a number below 2^16, rounded down: that of its first digits is too small at most. */
static uint_fast16_t bemi_root(uint_fast16_t value)
{
    uint_fast16_t root;
    if (value < 256)
        root = BEMI_READ8(bemi_roots[value]) >> 4;
    else if (value < 4096)
        root = BEMI_READ8(bemi_roots[value >> 4]) >> 2;
    else
        root = BEMI_READ8(bemi_roots[value >> 8]);
    while ((uint32_t)(root + 1) * (root + 1) <= value)
        root++;
    return root;
}

/* Roots of the sums of one row of regions; the sums are then reset to 0. */
BEMI_APART void bemi_finish(uint32_t *sums, bemi_value_t *z)
{
    uint_fast16_t column;
    uint_fast8_t i;
    for (column = 0; column < BEMI_COLUMNS; column++) {
        sums[0] += sums[BEMI_ORIENTATIONS];
        sums[BEMI_ORIENTATIONS] = 0;
        for (i = 0; i < BEMI_ORIENTATIONS; i++, sums++) {
            const uint32_t sum = *sums;
            uint_fast16_t root = 0;
            if (sum) {
                root = bemi_root((uint_fast16_t)(sum >> BEMI_OUTPUT_SHIFT));
                *sums = 0;
            }
            *z++ = (bemi_value_t)root;
        }
        sums++;
    }
}

/* The sums of a row of regions, every second of which have the same place. */
#define BEMI_ROW_SIZE ((BEMI_COLUMNS + 1) * BEMI_BINS)
#define BEMI_REGIONS(row) (sums + ((row) & 1) * BEMI_ROW_SIZE)
#define BEMI_LINE_SIZE (BEMI_CHANNELS * (BEMI_WIDTH + 2))

static void bemi_transform(const bemi_input_t *x, bemi_value_t *z)
{
    /* Lines have a pixel more on each side, and rows of regions a region more, which counts for nothing. */
    uint8_t lines[3][BEMI_LINE_SIZE];
    int16_t blurred[3][BEMI_LINE_SIZE];
    uint32_t sums[2 * BEMI_ROW_SIZE + BEMI_BINS];
    bemi_ends_t ends[BEMI_GIVEN_HEIGHT];
    bemi_span_t made[3], smooth[3];
    int_fast16_t shift = 0;
#if BEMI_STRAIGHTEN
    int_fast16_t slant, centre;
#endif
    uint_fast16_t r, i, region;
    /* Volatile, since a compiler may turn a plain zeroing loop into a call to memset. */
    volatile uint8_t *pixels = lines[0];
    volatile int16_t *smoothed = blurred[0];
    volatile uint32_t *cleared = sums;
    for (i = 0; i < 3; i++)
        made[i] = smooth[i] = bemi_empty;
    for (i = 0; i < 3 * BEMI_LINE_SIZE; i++) {
        pixels[i] = 0;
        smoothed[i] = 0;
    }
    for (i = 0; i < 2 * BEMI_ROW_SIZE + BEMI_BINS; i++)
        cleared[i] = 0;
    bemi_find_ends(x, ends);
#if BEMI_STRAIGHTEN
    slant = bemi_slant(x, ends, &centre);
#endif
    /* Line r is made, line r - 1 blurred, line r - 2 pooled; lines outside the image are 0. */
    for (r = 0; r < BEMI_HEIGHT + 2; r++) {
        uint_fast16_t newest = r % 3, middle = (r + 2) % 3, oldest = (r + 1) % 3;
        const bemi_span_t old = smooth[middle];
        uint32_t *upper;
#if BEMI_STRAIGHTEN
        shift = bemi_shifted((int32_t)slant * (int32_t)(2 * (int_fast16_t)r - centre) + 4, 3);
#endif
        bemi_line(BEMI_LINE(x, r), ends, r, shift, lines[newest], &made[newest]);
        if (r > 0) {
            const bemi_span_t own = smooth[middle] = bemi_around(made);
            /* What is left of an older line is replaced, too.  Below the image nothing is blurred. */
            bemi_blur(lines[r <= BEMI_HEIGHT ? oldest : newest], lines[middle], lines[newest],
                      old.first < own.first ? old.first : own.first, old.end > own.end ? old.end : own.end,
                      blurred[middle]);
        }
        if (r < 2)
            continue;
        region = r >> 2;
        upper = BEMI_REGIONS(region + 1);
        bemi_pool(blurred[oldest], (int_fast16_t)(newest - oldest) * BEMI_LINE_SIZE + 1,
                  (int_fast16_t)(middle - oldest) * BEMI_LINE_SIZE + 1, bemi_around(smooth), upper,
                  region & 1 ? BEMI_ROW_SIZE : -BEMI_ROW_SIZE, 7 - 2 * (int32_t)(r & 3));
        /* The row above the image is computed, too, and replaced by the first. */
        if ((r & 3) == 3 || r == BEMI_HEIGHT + 1) {
            bemi_finish(upper + BEMI_BINS, z);
            if (region > 0)
                z += BEMI_COLUMNS * BEMI_ORIENTATIONS;
        }
    }
    region = (BEMI_HEIGHT + 1) >> 2;
    if (region < BEMI_ROWS)
        bemi_finish(BEMI_REGIONS(region) + BEMI_BINS, z);
}
