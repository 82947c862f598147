/* The only network decides. */
int bemi_predict(const bemi_input_t x[BEMI_INPUTS])
{
    bemi_state_t state;
$prepare
    return bemi_vote(&state, 0);
}
