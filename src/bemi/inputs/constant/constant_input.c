/* Inputs clipped to -BEMI_LEVEL..BEMI_LEVEL, followed by the constant BEMI_LEVEL. */
static void bemi_transform(const bemi_input_t *x, bemi_value_t *z)
{
    /* Volatile, since a compiler may turn a plain copy into a call to memcpy. */
    const volatile bemi_input_t *from = x;
    uint_fast16_t i;
    for (i = 0; i < BEMI_INPUTS; i++) {
        int32_t value = from[i];
        if (value > BEMI_LEVEL)
            value = BEMI_LEVEL;
        if (value < -(int32_t)BEMI_LEVEL)
            value = -(int32_t)BEMI_LEVEL;
        z[i] = (bemi_value_t)value;
    }
    z[BEMI_INPUTS] = BEMI_LEVEL;
}
