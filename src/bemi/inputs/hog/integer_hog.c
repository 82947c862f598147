/* Histograms of oriented gradients.  Lines are made, blurred and pooled one by one, so no copy of the image is needed;
   only the two rows of regions that a line belongs to are in memory at a time. */
static uint_fast16_t bemi_pixel(const bemi_input_t *x, uint_fast16_t row, uint_fast16_t column, uint_fast8_t channel)
{
    bemi_input_t value =
        x[((row >> BEMI_DOUBLED) * BEMI_GIVEN_WIDTH + (column >> BEMI_DOUBLED)) * BEMI_CHANNELS + channel];
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

#if BEMI_STRAIGHTEN
/* Division by 2^bits, rounded down, also of negative numbers above -2^19. */
static int_fast16_t bemi_shifted(int32_t value, uint_fast8_t bits)
{
    return (int_fast16_t)(((value + 524288) >> bits) - ((int32_t)524288 >> bits));
}

static uint_fast16_t bemi_mass(const bemi_input_t *x, uint_fast16_t row, uint_fast16_t column)
{
    uint_fast16_t sum = 0;
    uint_fast8_t channel;
    for (channel = 0; channel < BEMI_CHANNELS; channel++)
        sum += bemi_pixel(x, row, column, channel);
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

/* Shear in 1/64 pixel per line; the line of the centre, in half pixels, is stored in centre. */
static int_fast16_t bemi_slant(const bemi_input_t *x, int_fast16_t *centre)
{
    uint32_t mass = 0, across = 0, down = 0, size;
    int32_t mixed = 0, vertical = 0;
    int_fast16_t middle, slant = 0;
    uint_fast16_t r, c;
    *centre = 0;
    for (r = 0; r < BEMI_HEIGHT; r++)
        for (c = 0; c < BEMI_WIDTH; c++) {
            uint32_t weight = bemi_mass(x, r, c);
            mass += weight;
            across += weight * c;
            down += weight * r;
        }
    if (mass == 0)
        return 0;
    middle = (int_fast16_t)bemi_centre(across, mass);
    *centre = (int_fast16_t)bemi_centre(down, mass);
    for (r = 0; r < BEMI_HEIGHT; r++) {
        int32_t y = 2 * (int32_t)r - *centre, line = 0, moment = 0;
        for (c = 0; c < BEMI_WIDTH; c++) {
            int32_t weight = (int32_t)bemi_mass(x, r, c);
            line += weight;
            moment += weight * (int32_t)c;
        }
        mixed += y * (2 * moment - middle * line);
        vertical += y * y * line;
    }
    size = (uint32_t)(mixed < 0 ? -mixed : mixed);
    if (size + size >= (uint32_t)vertical)
        slant = 32;
    else
        for (r = 0; r < 6; r++) {
            size += size;
            slant += slant;
            if (size >= (uint32_t)vertical) {
                size -= (uint32_t)vertical;
                slant++;
            }
        }
    return mixed < 0 ? -slant : slant;
}
#endif

/* One line of the straightened image. */
static void bemi_line(const bemi_input_t *x, uint_fast16_t r, int_fast16_t slant, int_fast16_t centre, uint8_t *line)
{
    uint_fast16_t c;
    uint_fast8_t channel;
#if BEMI_STRAIGHTEN
    int_fast16_t sixteenths = bemi_shifted((int32_t)slant * (2 * (int_fast16_t)r - centre) + 4, 3);
    int_fast16_t whole = bemi_shifted(sixteenths, 4), part = sixteenths - 16 * whole;
#else
    (void)slant;
    (void)centre;
#endif
    for (channel = 0; channel < BEMI_CHANNELS; channel++)
        for (c = 0; c < BEMI_WIDTH; c++) {
#if BEMI_STRAIGHTEN
            int_fast16_t left = (int_fast16_t)c + whole;
            uint_fast16_t total = 8;
            if (left >= 0 && left < BEMI_WIDTH)
                total += (uint_fast16_t)(16 - part) * bemi_pixel(x, r, (uint_fast16_t)left, channel);
            if (left >= -1 && left < BEMI_WIDTH - 1)
                total += (uint_fast16_t)part * bemi_pixel(x, r, (uint_fast16_t)(left + 1), channel);
            *line++ = (uint8_t)(total >> 4);
#else
            *line++ = (uint8_t)bemi_pixel(x, r, c, channel);
#endif
        }
}

/* Blur one line with its neighbours; NULL is outside the image. */
static void bemi_blur(const uint8_t *above, const uint8_t *line, const uint8_t *below, int16_t *blurred)
{
    uint_fast16_t c;
    uint_fast8_t channel;
    for (channel = 0; channel < BEMI_CHANNELS; channel++) {
        uint_fast16_t left = 0, here = 0;
        for (c = 0; c <= BEMI_WIDTH; c++) {
            uint_fast16_t right = 0;
            if (c < BEMI_WIDTH) {
                right = 2 * (uint_fast16_t)*line++;
                if (above)
                    right += *above++;
                if (below)
                    right += *below++;
            }
            if (c > 0)
                *blurred++ = (int16_t)(left + 2 * here + right);
            left = here;
            here = right;
        }
    }
}

/* Distribute the gradients of one line over two orientations, two columns and two rows of regions. */
static void bemi_pool(const int16_t *above, const int16_t *line, const int16_t *below, uint_fast16_t r, int32_t *upper,
                      int32_t *lower)
{
    uint_fast16_t c;
    uint_fast8_t place = (r + 2) & 3;
    for (c = 0; c < BEMI_WIDTH; c++) {
        int32_t gx = 0, gy = 0, first, second;
        uint_fast16_t largest = 0, region = (c + 2) >> 2, j;
        uint_fast8_t channel, orientation = 0, sector = 0, across = (c + 2) & 3;
        for (channel = 0; channel < BEMI_CHANNELS; channel++) {
            uint_fast16_t at = channel * BEMI_WIDTH + c;
            int_fast16_t h = (c + 1 < BEMI_WIDTH ? line[at + 1] : 0) - (c > 0 ? line[at - 1] : 0);
            int_fast16_t v = (below ? below[at] : 0) - (above ? above[at] : 0);
            uint_fast16_t m = (uint_fast16_t)(h < 0 ? -h : h), n = (uint_fast16_t)(v < 0 ? -v : v);
            uint_fast16_t size = m > n ? 2 * m + n : 2 * n + m;
            if (size > largest) {
                largest = size;
                gx = h;
                gy = v;
            }
        }
        if (largest == 0)
            continue;
        while (!(gx > 0 && gy >= 0)) {
            int32_t turned = -gx;
            gx = gy;
            gy = turned;
            orientation += BEMI_SECTORS;
        }
        while ((first = gx * BEMI_READ8(bemi_directions[2 * sector + 3]) -
                        gy * BEMI_READ8(bemi_directions[2 * sector + 2])) <= 0)
            sector++;
        second = gy * BEMI_READ8(bemi_directions[2 * sector]) - gx * BEMI_READ8(bemi_directions[2 * sector + 1]);
        orientation += sector;
        for (j = 0; j < 2; j++) {
            uint_fast16_t column = region - j;
            uint_fast16_t at = column * BEMI_ORIENTATIONS + orientation;
            uint_fast16_t next = orientation + 1 < BEMI_ORIENTATIONS ? at + 1 : column * BEMI_ORIENTATIONS;
            int32_t weight = j ? 7 - 2 * across : 2 * across + 1;
            if (column >= BEMI_COLUMNS)
                continue;
            if (upper) {
                upper[at] += weight * (7 - 2 * place) * first;
                upper[next] += weight * (7 - 2 * place) * second;
            }
            if (lower) {
                lower[at] += weight * (2 * place + 1) * first;
                lower[next] += weight * (2 * place + 1) * second;
            }
        }
    }
}

/* Roots of the sums of one row of regions; the sums are then reset to 0. */
static void bemi_roots(int32_t *sums, bemi_value_t *z)
{
    /* Volatile, since a compiler may turn a plain zeroing loop into a call to memset. */
    volatile int32_t *cleared = sums;
    uint_fast16_t i;
    for (i = 0; i < BEMI_COLUMNS * BEMI_ORIENTATIONS; i++) {
        uint32_t value = (uint32_t)sums[i] >> BEMI_OUTPUT_SHIFT;
        uint_fast16_t root = 0, bit;
        for (bit = 128; bit > 0; bit >>= 1)
            if ((uint32_t)(root + bit) * (root + bit) <= value)
                root += bit;
        z[i] = (bemi_value_t)root;
        cleared[i] = 0;
    }
}

static void bemi_transform(const bemi_input_t *x, bemi_value_t *z)
{
    uint8_t lines[3][BEMI_CHANNELS * BEMI_WIDTH];
    int16_t blurred[3][BEMI_CHANNELS * BEMI_WIDTH];
    int32_t sums[2][BEMI_COLUMNS * BEMI_ORIENTATIONS];
    int_fast16_t slant = 0, centre = 0;
    uint_fast16_t r, region;
    volatile int32_t *cleared = sums[0];
    for (r = 0; r < 2 * BEMI_COLUMNS * BEMI_ORIENTATIONS; r++)
        cleared[r] = 0;
#if BEMI_STRAIGHTEN
    slant = bemi_slant(x, &centre);
#endif
    for (r = 0; r < BEMI_HEIGHT + 2; r++) {
        /* Line r is made, line r - 1 blurred, line r - 2 pooled. */
        if (r < BEMI_HEIGHT)
            bemi_line(x, r, slant, centre, lines[r % 3]);
        if (r >= 1 && r < BEMI_HEIGHT + 1)
            bemi_blur(r >= 2 ? lines[(r - 2) % 3] : 0, lines[(r - 1) % 3], r < BEMI_HEIGHT ? lines[r % 3] : 0,
                      blurred[(r - 1) % 3]);
        if (r >= 2) {
            region = r >> 2;
            bemi_pool(r >= 3 ? blurred[(r - 3) % 3] : 0, blurred[(r - 2) % 3],
                      r < BEMI_HEIGHT + 1 ? blurred[(r - 1) % 3] : 0, r - 2, region >= 1 ? sums[(region - 1) & 1] : 0,
                      region < BEMI_ROWS ? sums[region & 1] : 0);
            if (region >= 1 && ((r & 3) == 3 || r == BEMI_HEIGHT + 1)) {
                bemi_roots(sums[(region - 1) & 1], z);
                z += BEMI_COLUMNS * BEMI_ORIENTATIONS;
            }
        }
    }
    region = (BEMI_HEIGHT + 1) >> 2;
    if (region < BEMI_ROWS)
        bemi_roots(sums[region & 1], z);
}
