/* The only network decides. */
$head
{
$prepare
    return bemi_vote(state, 0);
}
