void bemi_scale(const int32_t reading[BEMI_INPUTS], bemi_input_t x[BEMI_INPUTS])
{
    uint_fast16_t i;
    for (i = 0; i < BEMI_INPUTS; i++)
        x[i] = (bemi_input_t)bemi_fixed_point(reading[i], i);
}
