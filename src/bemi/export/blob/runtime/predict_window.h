
/* The same for a ring of samples, of which the one of this index is the oldest. */
int bemi_blob_predict_window(const bemi_blob_t *blob, const bemi_blob_input_t *x, uint16_t oldest, void *work);
