/* What the networks see of a table: BEMI_VALUES centred values, BEMI_TESTS bits, and BEMI_LEVEL if BEMI_CONSTANT.
   A bit is BEMI_LEVEL if its test of a reading holds, otherwise -BEMI_LEVEL. */
static void bemi_transform(const bemi_input_t *x, bemi_value_t *z)
{
#if BEMI_VALUES || BEMI_TESTS
    uint_fast16_t i;
#endif
#if BEMI_VALUES
    for (i = 0; i < BEMI_VALUES; i++) {
        int32_t reading = x[BEMI_READ_COLUMN(bemi_value_columns[i])];
        *z++ = (bemi_value_t)(reading == BEMI_MISSING_READING ? 0 : bemi_fixed_point(reading, i));
    }
#endif
#if BEMI_TESTS
    for (i = 0; i < BEMI_TESTS; i++) {
        int32_t value = x[BEMI_READ_COLUMN(bemi_columns[i])], reading = BEMI_READ_READING(bemi_readings[i]);
        *z++ = BEMI_HOLDS(i, value, reading) ? BEMI_LEVEL : -BEMI_LEVEL;
    }
#endif
#if BEMI_CONSTANT
    *z = BEMI_LEVEL;
#endif
#if !BEMI_VALUES && !BEMI_TESTS
    (void)x;
#endif
}
