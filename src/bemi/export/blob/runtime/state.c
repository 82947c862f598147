/* The state of one prediction. */
typedef struct {
    const bemi_blob_t *blob;
    const bemi_value_t *z;
    bemi_class_t *votes;
    uint16_t *counts;
} bemi_state_t;
