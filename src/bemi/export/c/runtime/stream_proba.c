int bemi_predict_proba(const bemi_input_t x[BEMI_INPUTS], uint16_t p[BEMI_CLASSES])
{
    return bemi_decide_proba(x, 0, p);
}

int bemi_predict_window_proba(const bemi_stream_t *stream, uint16_t p[BEMI_CLASSES])
{
    return stream->full ? bemi_decide_proba(stream->samples, stream->oldest, p) : BEMI_NOT_READY;
}
