/* The state of one prediction: the sum of every first-layer neuron, and the votes so far. */
typedef struct {
    bemi_sum_t sums[BEMI_NEURONS];
    bemi_class_t votes[BEMI_NETWORKS];
} bemi_state_t;
