int bemi_predict(const bemi_input_t x[BEMI_INPUTS])
{
    return bemi_decide(x, 0);
}

void bemi_stream_init(bemi_stream_t *stream)
{
    stream->oldest = 0;
    stream->full = 0;
}

void bemi_push(bemi_stream_t *stream, const bemi_input_t sample[BEMI_CHANNELS])
{
    bemi_input_t *place = stream->samples + (uint_fast16_t)stream->oldest * BEMI_CHANNELS;
    uint_fast16_t channel;
    for (channel = 0; channel < BEMI_CHANNELS; channel++)
        place[channel] = sample[channel];
    if (++stream->oldest == BEMI_WINDOW) {
        stream->oldest = 0;
        stream->full = 1;
    }
}

int bemi_predict_window(const bemi_stream_t *stream)
{
    return stream->full ? bemi_decide(stream->samples, stream->oldest) : BEMI_NOT_READY;
}
