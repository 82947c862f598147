int bemi_blob_predict_window(const bemi_blob_t *blob, const bemi_blob_input_t *x, uint16_t oldest, void *work)
{
    return oldest < BEMI_WINDOW ? bemi_run(blob, x, oldest, work) : BEMI_BLOB_OUT_OF_RANGE;
}
