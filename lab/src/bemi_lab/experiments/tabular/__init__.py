"""The experiment on tables: our models and other classifiers on the same splits of real tables."""
