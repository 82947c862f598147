/* The only neuron decides; zero counts as positive. */
int bemi_predict(const bemi_input_t x[BEMI_INPUTS])
{
    return $function(x) < 0 ? $negative : $positive;
}
