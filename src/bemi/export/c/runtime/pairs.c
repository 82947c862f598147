$head
{
$prepare
    uint_fast16_t a, b, n;
#ifndef BEMI_NO_EARLY_OUT
    /* A class that wins all its matches has more votes than any other, no matter how the other networks vote. */
    bemi_class_t met[BEMI_CLASSES];
    uint_fast16_t champion = 0, seen = 0;
    for (b = 1; b < BEMI_CLASSES; b++) {
        n = bemi_pair(champion, b);
        met[b] = (bemi_class_t)champion;
        champion = bemi_vote(state, n);
    }
    for (; seen < champion; seen++) {
        if (met[champion] == seen)
            continue;
        if (bemi_vote(state, bemi_pair(seen, champion)) != champion)
            break;
    }
    if (seen == champion)
        return (int)champion;
#endif
    for (a = 0, n = 0; a < BEMI_CLASSES; a++)
        for (b = a + 1; b < BEMI_CLASSES; b++, n++) {
#ifndef BEMI_NO_EARLY_OUT
            if (met[b] == a || (b == champion && a <= seen))
                continue;
#endif
            bemi_vote(state, n);
        }
    return bemi_elected(state);
}
