
/* Samples as they come, from as many sensors as there are streams.  bemi_push stores one, and bemi_predict_window gives
   what bemi_predict would give for the last BEMI_WINDOW of them, or BEMI_NOT_READY while there are fewer.
   bemi_stream_init comes first, and again after a gap.  Calls may interrupt each other if their streams differ. */
#define BEMI_NOT_READY (-2)
typedef struct {
    bemi_input_t samples[BEMI_INPUTS]; /* the next one replaces the oldest */
    uint16_t oldest;
    uint8_t full;
} bemi_stream_t;
void bemi_stream_init(bemi_stream_t *stream);
void bemi_push(bemi_stream_t *stream, const bemi_input_t sample[BEMI_CHANNELS]);
int bemi_predict_window(const bemi_stream_t *stream);
