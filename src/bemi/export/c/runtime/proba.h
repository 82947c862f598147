
/* The probability of every class in 65536ths, at least 1; their sum is 65536 up to rounding.  Returns what bemi_predict
   does, which need not be the most probable class. */
int bemi_predict_proba(const bemi_input_t x[BEMI_INPUTS], uint16_t p[BEMI_CLASSES]);
