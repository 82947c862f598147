
/* Samples as they come.  bemi_push stores one, and bemi_predict_window gives what bemi_predict would give for the last
   BEMI_WINDOW of them, or BEMI_NOT_READY while there are fewer.  bemi_reset forgets them, after a gap for example.  None
   may interrupt another.  The samples take BEMI_STATIC_BYTES of RAM; define BEMI_NO_RING to do without all this. */
#define BEMI_NOT_READY (-2)
void bemi_push(const bemi_input_t sample[BEMI_CHANNELS]);
int bemi_predict_window(void);
void bemi_reset(void);
