/* How many pixels have each of 64 colours, four levels per channel, as roots; a sixteenth of the image is most. */
static void bemi_colours(const bemi_input_t *x, bemi_value_t *z)
{
    uint32_t counts[64], i;
    volatile uint32_t *cleared = counts;
    for (i = 0; i < 64; i++)
        cleared[i] = 0;
    for (i = 0; i < BEMI_PIXELS; i++) {
        uint_fast8_t colour = 0, channel;
        for (channel = 0; channel < 3; channel++)
            colour = (uint_fast8_t)(4U * colour + 4 * (uint32_t)bemi_pixel(*x++) / (BEMI_MAXIMUM + 1UL));
        counts[colour]++;
    }
    for (i = 0; i < 64; i++) {
        uint32_t count = counts[i] >> BEMI_COLOUR_SHIFT;
        if (count > BEMI_MOST_COLOUR)
            count = BEMI_MOST_COLOUR;
        z[i] = (bemi_value_t)bemi_root((uint_fast16_t)(count * BEMI_WHOLE / BEMI_MOST_COLOUR));
    }
}

static void bemi_shapes_and_colours(const bemi_input_t *x, bemi_value_t *z)
{
    bemi_transform(x, z);
    bemi_colours(x, z + BEMI_ROWS * BEMI_COLUMNS * BEMI_ORIENTATIONS);
}
