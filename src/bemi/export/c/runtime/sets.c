$head
{
$prepare
    uint_fast16_t n;
    for (n = 0; n < BEMI_NETWORKS; n++)
        bemi_vote(state, n);
    return bemi_elected(state);
}
