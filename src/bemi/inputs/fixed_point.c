/* The integer of a reading: its distance from the column's centre times a multiplier, shifted right, rounded to the
   nearest, halves up.  It saturates at -BEMI_MOST_BELOW and BEMI_MOST_ABOVE.  Distances are unsigned, so that nothing
   overflows and no negative number is shifted. */
static int32_t bemi_fixed_point(int32_t reading, uint_fast16_t column)
{
    int32_t centre = BEMI_READ_CENTRE(bemi_centres[column]);
    uint_fast8_t below = reading < centre, shift = BEMI_READ8(bemi_shifts[column]);
    uint32_t distance = below ? (uint32_t)centre - (uint32_t)reading : (uint32_t)reading - (uint32_t)centre;
    uint32_t most = below ? (uint32_t)BEMI_MOST_BELOW : (uint32_t)BEMI_MOST_ABOVE, integer;
    bemi_product_t product;
#if BEMI_HAS_REACHES
    /* Farther readings saturate, and up to here the product fits into 32 bits. */
    uint32_t reach = BEMI_READ32(bemi_reaches[column]);
    if (distance > reach)
        distance = reach;
#endif
    product = distance * (bemi_product_t)BEMI_READ_MULTIPLIER(bemi_multipliers[column]);
    if (product == 0)
        return 0;
    /* All bits but the last half of a unit are shifted out; that half then rounds. */
    product -= below;
    shift = (uint_fast8_t)(shift - 1);
#if BEMI_HAS_REACHES
    integer = product >> shift;
#else
    {
        /* By halves: compilers for small processors call a function for a shift of 64 bits. */
        uint32_t high = (uint32_t)(product >> 32), low = (uint32_t)product;
        if (shift >= 32) {
            integer = high >> (shift - 32);
        } else {
            if (high >> shift)
                return below ? -(int32_t)most : (int32_t)most;
            integer = shift ? high << (32 - shift) | low >> shift : low;
        }
    }
#endif
    integer = (integer >> 1) + (integer & 1);
    if (integer > most)
        integer = most;
    return below ? -(int32_t)integer : (int32_t)integer;
}
