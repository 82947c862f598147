"""Models as data: a checked file for updates over the air, and one C runtime that runs any such file.

The runtime is assembled from the same files as exported C (:mod:`bemi.export.c`), whose tables and constants become
parts of the file.  docs/export.md explains how to use it.
"""

from bemi.export.blob.writing import BlobExport, export, write

__all__ = ["BlobExport", "export", "write"]
