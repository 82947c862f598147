
/* bemi_push for values in the units of training: as in Python, multiplied, rounded to the nearest integer, halves to the
   even one, and saturated.  A value that is no number counts as the smallest.  The only function with floating point. */
static inline void bemi_push_float(bemi_stream_t *stream, const float values[BEMI_CHANNELS])
{
$tables    bemi_input_t sample[BEMI_CHANNELS];
    uint_fast16_t channel;
    for (channel = 0; channel < BEMI_CHANNELS; channel++) {
        double units = (double)values[channel]$units;
        int32_t whole;
        if (!(units > (double)BEMI_INPUT_MIN))
            units = (double)BEMI_INPUT_MIN;
        if (units > (double)BEMI_INPUT_MAX)
            units = (double)BEMI_INPUT_MAX;
        whole = (int32_t)units;
        units -= (double)whole;
        if (units > 0.5 || (units >= 0.5 && whole % 2 != 0))
            whole++;
        if (units < -0.5 || (units <= -0.5 && whole % 2 != 0))
            whole--;
        sample[channel] = (bemi_input_t)whole;
    }
    bemi_push(stream, sample);
}
