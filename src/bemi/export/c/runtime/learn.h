
/* Classes learned on the device, $bytes bytes each: begin with bemi_learned_t learned[2] = {{{0}, 0}}, and call
   bemi_learn(x, &learned[0]) for five or more rows of the first one.  It returns how many rows the class has; those after
   BEMI_MOST_LEARNED are left out.  bemi_predict_learned gives what bemi_predict gives, or BEMI_CLASSES plus the number of
   a learned class; those without rows take no part. */
#define BEMI_FEATURES $features
#define BEMI_MOST_LEARNED $rows
typedef struct {
    int16_t sums[BEMI_FEATURES];
    uint8_t rows;
} bemi_learned_t;
int bemi_learn(const bemi_input_t x[BEMI_INPUTS], bemi_learned_t *learned);
int bemi_predict_learned(const bemi_input_t x[BEMI_INPUTS], const bemi_learned_t *learned, uint_fast8_t count);
