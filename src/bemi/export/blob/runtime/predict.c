static int bemi_run(const bemi_blob_t *blob, const bemi_blob_input_t *x, uint_fast16_t oldest, void *work)
{
    bemi_class_t *const votes = (bemi_class_t *)work;
    bemi_value_t *const z = (bemi_value_t *)(void *)(votes + bemi_labels(blob));
    bemi_state_t own, *const state = &own;
    state->blob = blob;
    state->z = z;
    state->votes = votes;
    state->counts = state->votes + blob->networks;
    (void)oldest;
$make    return blob->all_pairs ? bemi_decide_by_pairs(state) : bemi_decide_by_sets(state);
}

int bemi_blob_predict(const bemi_blob_t *blob, const bemi_blob_input_t *x, void *work)
{
    return bemi_run(blob, x, 0, work);
}
