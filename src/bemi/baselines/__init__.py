"""Other ways to train few-bit networks, for comparison: one network on all classes, one output per class."""

from bemi.baselines.classifier import BaselineClassifier, NoNetwork
from bemi.baselines.systems import SYSTEMS

__all__ = ["SYSTEMS", "BaselineClassifier", "NoNetwork"]
