
/* The same for the last BEMI_WINDOW samples; BEMI_NOT_READY, and nothing in p, while there are fewer. */
int bemi_predict_window_proba(const bemi_stream_t *stream, uint16_t p[BEMI_CLASSES]);
