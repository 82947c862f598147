
/* The same for the last BEMI_WINDOW samples; BEMI_NOT_READY, and nothing in p, while there are fewer. */
int bemi_predict_window_proba(uint16_t p[BEMI_CLASSES]);
