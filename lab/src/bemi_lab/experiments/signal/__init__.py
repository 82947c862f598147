"""The experiment on signals: our models and other classifiers on the same windows of real recordings."""
