/* What the networks see of a table: BEMI_VALUES centred values, BEMI_TESTS bits, BEMI_RULES rules, BEMI_LIKE similarities
   to training rows, and BEMI_CONSTANT unless it is 0.  A bit is BEMI_LEVEL if its test of a reading holds, a rule if all of
   its conditions do, otherwise -BEMI_LEVEL. */
#if BEMI_LIKE
/* Value or bit by which rows are compared. */
static int_fast16_t bemi_unit(const bemi_input_t *x, uint_fast16_t i)
{
    int32_t reading = x[BEMI_READ_COLUMN(bemi_unit_columns[i])];
#if BEMI_UNIT_VALUES
    if (i < BEMI_UNIT_VALUES)
        return reading == BEMI_MISSING_READING ? 0 : (int_fast16_t)bemi_fixed_point(reading, i);
#endif
    return reading == (int32_t)BEMI_READ32(bemi_unit_readings[i]) ? BEMI_UNIT_LEVEL : -BEMI_UNIT_LEVEL;
}

/* Similarity to each landmark: it halves over BEMI_HALVING of distance, in steps. */
static void bemi_similarities(const bemi_input_t *x, bemi_value_t *z)
{
    int8_t units[BEMI_UNITS];
    const int8_t *landmark = bemi_landmarks;
    uint_fast16_t i, k;
    for (i = 0; i < BEMI_UNITS; i++)
        units[i] = (int8_t)bemi_unit(x, i);
    for (k = 0; k < BEMI_LIKE; k++) {
        uint32_t distance = 0;
        for (i = 0; i < BEMI_UNITS; i++, landmark++) {
            int_fast16_t apart = (int_fast16_t)(units[i] - (int8_t)BEMI_READ8(*landmark));
            distance += (uint32_t)(apart < 0 ? -apart : apart);
        }
        distance = (uint32_t)(distance * BEMI_STEPS / BEMI_HALVING);
        z[k] = (bemi_value_t)BEMI_READ16(bemi_similarity[distance < 255 ? distance : 255]);
    }
}
#endif

static void bemi_transform(const bemi_input_t *x, bemi_value_t *z)
{
#if BEMI_VALUES || BEMI_TESTS || BEMI_RULES
    uint_fast16_t i;
#endif
#if BEMI_VALUES
    for (i = 0; i < BEMI_VALUES; i++) {
        int32_t reading = x[BEMI_READ_COLUMN(bemi_value_columns[i])];
        *z++ = (bemi_value_t)(reading == BEMI_MISSING_READING ? 0 : bemi_fixed_point(reading, BEMI_SCALE_OF(i)));
    }
#endif
#if BEMI_TESTS
    for (i = 0; i < BEMI_TESTS; i++) {
        int32_t value = x[BEMI_READ_COLUMN(bemi_columns[i])], reading = BEMI_READ_READING(bemi_readings[i]);
        *z++ = BEMI_HOLDS(i, value, reading) ? BEMI_LEVEL : -BEMI_LEVEL;
    }
#endif
#if BEMI_RULES
    uint_fast16_t place = 0;
    for (i = 0; i < BEMI_RULES; i++) {
        uint_fast8_t on = 1, left = BEMI_READ_RULE_LENGTHS(bemi_rule_lengths[i]);
        for (; left; left--, place++) {
            int32_t value = x[BEMI_READ_CONDITION_COLUMNS(bemi_condition_columns[place])];
            int32_t reading = BEMI_READ_CONDITION_READINGS(bemi_condition_readings[place]);
            uint_fast8_t test = BEMI_READ_CONDITION_TESTS(bemi_condition_tests[place]);
            /* 1: equality instead of at least, 2: the opposite */
            if (((test & 1 ? value == reading : value >= reading) ? 0 : 2) != (test & 2))
                on = 0;
        }
        *z++ = on ? BEMI_LEVEL : -BEMI_LEVEL;
    }
#endif
#if BEMI_LIKE
    bemi_similarities(x, z);
    z += BEMI_LIKE;
#endif
#if BEMI_CONSTANT
    *z = BEMI_CONSTANT;
#elif BEMI_LIKE
    (void)z;
#endif
#if !BEMI_VALUES && !BEMI_TESTS && !BEMI_RULES && !BEMI_LIKE
    (void)x;
#endif
}
