"""Write files atomically, and read files of limited size."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO


def write_atomically(files: dict[Path, bytes]) -> None:
    """Write all files completely before moving any into place; a failure leaves the old files."""
    written: dict[Path, Path] = {}
    try:
        for path, content in files.items():
            # Not with mkstemp, whose files only their owner may read.
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
            error.filename = os.fspath(path)  # a full disk names no file, other errors name the temporary one
        raise


def write_files(folder: str | os.PathLike, contents: Mapping[str, str | bytes]) -> None:
    """Write texts or bytes by the names of their files to a folder, which is created if necessary."""
    files = {Path(folder) / name: c.encode() if isinstance(c, str) else c for name, c in contents.items()}
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(files)


def open_at_most(path: str | os.PathLike, largest: int, error: type[Exception] = ValueError) -> BinaryIO:
    """Open a file to read; raises ``error``, without reading, if it has more than ``largest`` bytes or is no file.

    An archive can hold a named pipe: opening it must not wait for someone to write into it.
    """
    file = open(path, "rb", opener=_at_once)  # noqa: SIM115 - the caller closes it
    status = os.fstat(file.fileno())
    why = "" if stat.S_ISREG(status.st_mode) else "is not a file"
    if not why and status.st_size > largest:
        why = f"is too large: it has {status.st_size} bytes, and at most {largest} are read"
    if why:
        file.close()
        raise error(f"{os.fspath(path)} {why}")
    return file


def read_at_most(path: str | os.PathLike, largest: int, error: type[Exception] = ValueError) -> bytes:
    """Content of a file, which is opened as :func:`open_at_most` does."""
    with open_at_most(path, largest, error) as file:
        return file.read(os.fstat(file.fileno()).st_size)


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def printable(text: str, longest: int = 400) -> str:
    """One line that a terminal can show, whatever a file contains: control characters escaped, long text cut."""
    cut = text if len(text) <= longest else text[: longest - 4] + " ..."
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in cut)
