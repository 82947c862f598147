"""Few-bit neural networks, trained exactly from few examples by mixed-integer programming."""

from importlib.metadata import version

from bemi.classifier import BeMiClassifier
from bemi.modelfile import load, save
from bemi.network import Network

__version__ = version("bemi")
__all__ = ["BeMiClassifier", "Network", "load", "save"]
