
/* The chance of every class in 65536ths, at least 1; their sum is 65536 up to rounding.  Returns what bemi_predict does,
   which need not be the class with the largest chance. */
int bemi_predict_proba(const bemi_input_t x[BEMI_INPUTS], uint16_t p[BEMI_CLASSES]);
