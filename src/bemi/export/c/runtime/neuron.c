/* The only neuron decides; zero counts as positive. */
$head
{
    return $function(x) < 0 ? $negative : $positive;
}
