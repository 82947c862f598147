"""Other ways to train few-bit networks, for comparison: one network on all classes, one output per class."""

from bemi_lab.baselines.classifier import BaselineClassifier, NoNetwork
from bemi_lab.baselines.systems import CP, SYSTEMS

__all__ = ["CP", "SYSTEMS", "BaselineClassifier", "NoNetwork"]
