
/* Smooths labels over time.  Of the last BEMI_SMOOTH_LENGTH labels, including this one, the most frequent counts, among
   equals the newest.  With at least BEMI_SMOOTH_VOTES votes it becomes the stable label, which is returned; BEMI_UNSURE
   before there is one.  Negative labels are votes for no class.  bemi_smooth_reset forgets all labels. */
#define BEMI_SMOOTH_LENGTH $length
#define BEMI_SMOOTH_VOTES $votes
#define BEMI_UNSURE (-1)
int bemi_smooth(int label);
void bemi_smooth_reset(void);
