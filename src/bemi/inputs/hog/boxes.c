/* Replaces boxes of BEMI_BOX x BEMI_BOX pixels by their rounded means, and makes outputs of these.  What is left over on
   the right and below is not looked at. */
static void bemi_of_boxes(const bemi_input_t *x, bemi_value_t *z)
{
    bemi_input_t means[BEMI_GIVEN_HEIGHT * BEMI_GIVEN_WIDTH * BEMI_CHANNELS], *mean = means;
    uint_fast16_t r, c, i, j;
    uint_fast8_t channel;
    for (r = 0; r < BEMI_GIVEN_HEIGHT; r++, x += BEMI_BOX * BEMI_FRAME_WIDTH * BEMI_CHANNELS)
        for (c = 0; c < BEMI_GIVEN_WIDTH; c++)
            for (channel = 0; channel < BEMI_CHANNELS; channel++) {
                const bemi_input_t *line = x + c * BEMI_BOX * BEMI_CHANNELS + channel;
                uint32_t sum = BEMI_BOX * BEMI_BOX / 2;
                for (i = 0; i < BEMI_BOX; i++, line += BEMI_FRAME_WIDTH * BEMI_CHANNELS)
                    for (j = 0; j < BEMI_BOX; j++)
                        sum += (uint32_t)bemi_pixel(line[j * BEMI_CHANNELS]);
                *mean++ = (bemi_input_t)(sum / (BEMI_BOX * BEMI_BOX));
            }
    BEMI_OUTPUTS(means, z);
}
