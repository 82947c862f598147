/* The only network decides. */
int bemi_predict(const bemi_input_t x[BEMI_INPUTS])
{
$prepare
    return bemi_vote(&state, 0);
}
