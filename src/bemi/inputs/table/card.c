/* The sum of the neuron: BEMI_START and the points of all tests of readings that hold. */
static bemi_sum_t bemi_neuron(const bemi_input_t *x)
{
    bemi_sum_t sum = BEMI_START;
    uint_fast16_t i;
    for (i = 0; i < BEMI_TESTS; i++) {
        int32_t value = x[BEMI_READ_COLUMN(bemi_columns[i])], reading = BEMI_READ_READING(bemi_readings[i]);
        if (BEMI_HOLDS(i, value, reading))
            sum += BEMI_READ_POINTS(bemi_points[i]);
    }
    return sum;
}
