int bemi_predict(const bemi_input_t x[BEMI_INPUTS])
{
    return bemi_decide(x, 0);
}

#ifndef BEMI_NO_RING
/* The last samples.  The next one replaces the oldest. */
static bemi_input_t bemi_ring[BEMI_INPUTS];
static uint16_t bemi_oldest;
static uint8_t bemi_full;

void bemi_push(const bemi_input_t sample[BEMI_CHANNELS])
{
    bemi_input_t *place = bemi_ring + (uint_fast16_t)bemi_oldest * BEMI_CHANNELS;
    uint_fast16_t channel;
    for (channel = 0; channel < BEMI_CHANNELS; channel++)
        place[channel] = sample[channel];
    if (++bemi_oldest == BEMI_WINDOW) {
        bemi_oldest = 0;
        bemi_full = 1;
    }
}

int bemi_predict_window(void)
{
    return bemi_full ? bemi_decide(bemi_ring, bemi_oldest) : BEMI_NOT_READY;
}

void bemi_reset(void)
{
    bemi_oldest = 0;
    bemi_full = 0;
}
#endif
