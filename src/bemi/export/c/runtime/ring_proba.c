int bemi_predict_proba(const bemi_input_t x[BEMI_INPUTS], uint16_t p[BEMI_CLASSES])
{
    return bemi_decide_proba(x, 0, p);
}

#ifndef BEMI_NO_RING
int bemi_predict_window_proba(uint16_t p[BEMI_CLASSES])
{
    return bemi_full ? bemi_decide_proba(bemi_ring, bemi_oldest, p) : BEMI_NOT_READY;
}
#endif
