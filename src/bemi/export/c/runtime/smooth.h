
/* Smooths labels over time, those of each stream with a smoother of its own.  Of the last BEMI_SMOOTH_LENGTH labels,
   including this one, the most frequent counts, among equals the newest.  With at least BEMI_SMOOTH_VOTES votes it becomes
   the stable label, which is returned; BEMI_UNSURE before there is one.  Negative labels are votes for no class.
   bemi_smoother_init comes first; it forgets all labels. */
#define BEMI_SMOOTH_LENGTH $length
#define BEMI_SMOOTH_VOTES $votes
#define BEMI_UNSURE (-1)
typedef $kind bemi_label_t;
typedef struct {
    bemi_label_t labels[BEMI_SMOOTH_LENGTH], stable; /* each plus 1; 0 is no label */
    uint8_t newest;
} bemi_smoother_t;
void bemi_smoother_init(bemi_smoother_t *smoother);
int bemi_smooth(bemi_smoother_t *smoother, int label);
