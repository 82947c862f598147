"""The experiment on images: what is recommended, with its own choice, beside other classifiers on the same rows."""
