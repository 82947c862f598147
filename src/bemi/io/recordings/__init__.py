"""From recordings of a sensor to windows: what a signal's classifier is trained on."""
