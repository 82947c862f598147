/* The same for the last BEMI_WINDOW samples; BEMI_NOT_READY, and nothing learned, while there are fewer. */
int bemi_learn_window(const bemi_stream_t *stream, bemi_learned_t *learned);
int bemi_predict_window_learned(const bemi_stream_t *stream, const bemi_learned_t *learned, uint_fast8_t count);
