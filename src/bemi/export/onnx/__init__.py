"""ONNX models of trained ensembles: integer operators only, the same labels as in Python; see docs/export.md.

The Python package onnx is imported only when a model is created.
"""

from bemi.export.onnx.writing import OnnxNotInstalled, input_range, metadata, model, write

__all__ = ["OnnxNotInstalled", "input_range", "metadata", "model", "write"]
