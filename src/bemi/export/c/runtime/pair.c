/* Index of the network for a pair of classes, low < high. */
static uint_fast16_t bemi_pair(uint_fast16_t low, uint_fast16_t high)
{
    return (uint_fast16_t)((uint32_t)low * (2 * BEMI_CLASSES - 1 - low) / 2 + high - low - 1);
}
