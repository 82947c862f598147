"""Where the text of a table comes from: a file, gzip, standard input, or a Parquet or Excel table written as CSV."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Callable
from functools import cache, lru_cache
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import pandas as pd

STANDARD_INPUT = Path("-")


class DataFileError(ValueError):
    """A data file cannot be used; the message says where and why."""


def opened(path: Path) -> BinaryIO:
    """The bytes of a CSV file, or of what is read as one."""
    if path == STANDARD_INPUT:
        return BytesIO(_standard_input())
    suffix = path.suffix.lower()
    if suffix == ".gz" or suffix in _READERS:
        about = path.stat()
        return BytesIO(_converted(path, about.st_mtime_ns, about.st_size))
    return open(path, "rb")


@cache
def _standard_input() -> bytes:
    """All of standard input, which can be read only once."""
    return sys.stdin.buffer.read()


@lru_cache(maxsize=1)
def _converted(path: Path, changed: int, size: int) -> bytes:
    """The content of a file as CSV; ``changed`` and ``size`` tell when it is another one."""
    suffix = path.suffix.lower()
    try:
        if suffix == ".gz":
            with gzip.open(path) as file:
                return file.read()
        reader, package = _READERS[suffix]
        return reader(path).to_csv(index=False).encode()
    except ImportError:
        raise DataFileError(f"{path} needs {package}: pip install 'bemi[tables]'") from None
    except (OSError, EOFError, ValueError, KeyError, zlib.error) as error:
        if isinstance(error, (FileNotFoundError, PermissionError)):
            raise
        kind = "gzip" if suffix == ".gz" else package
        raise DataFileError(f"{path} cannot be read with {kind}: {' '.join(str(error).split())}") from None


def _parquet(path: Path) -> pd.DataFrame:
    return pd.read_parquet(path, engine="pyarrow")


def _excel(path: Path) -> pd.DataFrame:
    """The first sheet, cells as they are, so that no text becomes a missing value."""
    return pd.read_excel(path, engine="openpyxl", dtype=object, keep_default_na=False)


_READERS: dict[str, tuple[Callable[[Path], pd.DataFrame], str]] = {
    ".parquet": (_parquet, "pyarrow"),
    ".xlsx": (_excel, "openpyxl"),
}
