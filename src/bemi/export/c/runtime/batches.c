/* Whether words hold two numbers. */
#ifndef BEMI_PAIRS
#define BEMI_PAIRS (UINT_FAST16_MAX > 65535)
#endif

/* Small devices have few registers.  Loops in functions of their own have all of them. */
#ifdef __GNUC__
#define BEMI_APART __attribute__((noinline))
#else
#define BEMI_APART
#endif

/* Sums without any input: what constant inputs add, and what takes back that bemi_take gets inputs plus 127. */
static void bemi_start(bemi_sum_t *sums)
{
    uint_fast16_t neuron;
    for (neuron = 0; neuron < BEMI_NEURONS; neuron++)
        sums[neuron] = (bemi_sum_t)BEMI_READ_START_SUM(bemi_starts[neuron]);
}

/* Adds eight inputs to the sums of all neurons.  Neither inputs nor weights are negative: an input is stored plus 127, a
   weight plus BEMI_WEIGHT_BOUND, in four bits.
   Pairs: for words of two numbers, (v + w 2^16) (z + y 2^16) = v z + (v y + w z) 2^16 modulo 2^32, whose upper half is
   the sum of two products.  Four of these words can be added: 8 * 15 * 254 < 2^16. */
static BEMI_APART void bemi_take(bemi_sum_t *sums, uint_fast16_t lot, const uint8_t *eight)
{
    const uint32_t *p = bemi_weights + (uint32_t)lot * BEMI_NEURONS;
    uint_fast16_t left = BEMI_NEURONS;
    uint_fast16_t total = 0;
    uint_fast8_t i;
#if BEMI_PAIRS
    /* Volatile, since a compiler that knows the bits shifts them in a step of its own. */
    const volatile uint32_t bits = 0x000F000FUL;
    const uint32_t mask = bits;
    uint32_t pairs[4];
    for (i = 0; i < 4; i++) {
        pairs[i] = eight[4 + i] | (uint32_t)eight[i] << 16;
        total += eight[i];
        total += eight[4 + i];
    }
    total *= BEMI_WEIGHT_BOUND;
    do {
        const uint32_t weights = *p++;
        uint32_t sum = (weights & mask) * pairs[0];
        sum += (weights >> 4 & mask) * pairs[1];
        sum += (weights >> 8 & mask) * pairs[2];
        sum += (weights >> 12 & mask) * pairs[3];
        *sums++ += (bemi_sum_t)(sum >> 16) - (bemi_sum_t)total;
    } while (--left);
#else
    for (i = 0; i < 8; i++)
        total += eight[i];
    total *= BEMI_WEIGHT_BOUND;
    do {
        const uint8_t *input = eight;
        uint32_t weights = BEMI_READ32(*p);
        uint_fast16_t sum = 0;
        for (i = 0; i < 4; i++) {
            const uint_fast8_t both = (uint_fast8_t)(weights & 255);
            sum += (uint_fast16_t)((both & 15) * *input++);
            sum += (uint_fast16_t)((both >> 4) * *input++);
            weights >>= 8;
        }
        p++;
        *sums++ += (bemi_sum_t)sum - (bemi_sum_t)total;
    } while (--left);
#endif
}
