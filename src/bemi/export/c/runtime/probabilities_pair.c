/* The probability of the first class is a table of 256ths over the clipped score. */
$head
{
$prepare
    int32_t score = (int32_t)$score;
    uint32_t step = 0;
    if (score > BEMI_CHANCES_FROM)
        step = ((uint32_t)score - (uint32_t)BEMI_CHANCES_FROM) >> BEMI_CHANCES_SHIFT;
    if (step >= BEMI_CHANCES)
        step = BEMI_CHANCES - 1;
    p[0] = (uint16_t)(256U * BEMI_READ8(bemi_chances[step]));
    p[1] = (uint16_t)(65536UL - p[0]);
    return score < 0;
}
