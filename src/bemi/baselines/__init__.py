"""Other ways to train the same networks, to compare with."""
