    {
        /* A tie: the class with the most evidence per network wins, then the first. */
        uint64_t strongest = 0;
        uint_fast16_t winner = best;
        for (a = best; a < BEMI_CLASSES; a++)
            if (BEMI_LEADS(a)) {
                uint64_t support = bemi_support(state, a);
                if (a == best || support * BEMI_NETWORKS_OF(winner) > strongest * BEMI_NETWORKS_OF(a)) {
                    strongest = support;
                    winner = a;
                }
            }
        return (int)winner;
    }
