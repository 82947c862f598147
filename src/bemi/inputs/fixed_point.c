/* The integer of a reading: its distance from the column's centre times a multiplier, shifted right, rounded to the
   nearest, halves up.  It saturates at -BEMI_MOST_BELOW and BEMI_MOST_ABOVE.  Distances are unsigned, so that nothing
   overflows and no negative number is shifted. */
static int32_t bemi_fixed_point(int32_t reading, uint_fast16_t column)
{
    int32_t centre = BEMI_READ_CENTRE(bemi_centres[column]);
    uint_fast8_t below = reading < centre, shift = BEMI_READ8(bemi_shifts[column]);
    uint32_t distance = below ? (uint32_t)centre - (uint32_t)reading : (uint32_t)reading - (uint32_t)centre;
    bemi_product_t most = below ? BEMI_MOST_BELOW : BEMI_MOST_ABOVE, integer;
#if BEMI_HAS_REACHES
    /* Farther readings saturate, and up to here the product fits into 32 bits. */
    uint32_t reach = BEMI_READ32(bemi_reaches[column]);
    if (distance > reach)
        distance = reach;
#endif
    integer = distance * (bemi_product_t)BEMI_READ_MULTIPLIER(bemi_multipliers[column]);
    integer = (integer + ((bemi_product_t)1 << (shift - 1)) - below) >> shift;
    if (integer > most)
        integer = most;
    return below ? -(int32_t)integer : (int32_t)integer;
}
