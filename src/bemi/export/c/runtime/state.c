/* The state of one prediction: the inputs of the networks, the sum of the common inputs, the votes so far, and, if ties
   may need it, the first sum of every network that has voted. */
typedef struct {
    const bemi_value_t *z;
    bemi_sum_t common;
    bemi_class_t votes[BEMI_NETWORKS];
#if BEMI_KEEP_SUMS
    bemi_sum_t sums[BEMI_NETWORKS];
#endif
} bemi_state_t;
