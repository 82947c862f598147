int bemi_learn(const bemi_input_t x[BEMI_INPUTS], bemi_learned_t *learned)
{
    return bemi_decide_learn(x, 0, learned);
}

int bemi_predict_learned(const bemi_input_t x[BEMI_INPUTS], const bemi_learned_t *learned, uint_fast8_t count)
{
    return bemi_decide_learned(x, 0, learned, count);
}

int bemi_learn_window(const bemi_stream_t *stream, bemi_learned_t *learned)
{
    return stream->full ? bemi_decide_learn(stream->samples, stream->oldest, learned) : BEMI_NOT_READY;
}

int bemi_predict_window_learned(const bemi_stream_t *stream, const bemi_learned_t *learned, uint_fast8_t count)
{
    return stream->full ? bemi_decide_learned(stream->samples, stream->oldest, learned, count) : BEMI_NOT_READY;
}
