"""Files that are written whole or not at all."""

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
    except BaseException:
        for temporary in written.values():
            temporary.unlink(missing_ok=True)
        raise
