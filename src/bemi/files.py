"""Files that are written whole or not at all, and read only if they are not too large."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_atomically(files: dict[Path, bytes]) -> None:
    """Write all files in full before any of them takes its place."""
    written: dict[Path, Path] = {}
    try:
        for path, content in files.items():
            # Opened by a name of its own rather than by mkstemp, whose files only their owner may read.
            written[path] = path.parent / f".{path.name}.{secrets.token_hex(8)}"
            with open(written[path], "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        for path, temporary in written.items():
            os.replace(temporary, path)
    except BaseException as error:
        for temporary in written.values():
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None:
            error.filename = os.fspath(path)  # a full disk says none, and others the temporary one's
        raise


def read_at_most(path: str | os.PathLike, largest: int, error: type[Exception] = ValueError) -> bytes:
    """Content of a file; one of more than ``largest`` bytes raises ``error`` before anything of it is read."""
    with open(path, "rb") as file:
        # What is no ordinary file, and might never end, has size 0.
        size = os.fstat(file.fileno()).st_size
        if size > largest:
            raise error(f"{os.fspath(path)} is too large: it has {size} bytes, and at most {largest} are read")
        return file.read(size)
