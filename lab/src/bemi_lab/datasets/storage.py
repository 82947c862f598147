"""Find a data set's files in the user's folder or the cache, or download them into the cache."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import platformdirs

from bemi.files import write_atomically
from bemi_lab.datasets.description import DataFile, DatasetError, Description, StoredFile, unusable
from bemi_lab.datasets.download import DownloadError, download

FOLDER_VARIABLE = "BEMI_DATA"
"""Environment variable that names the user's folder; a data set's files are in the subfolder of its name."""

_one_download = threading.Lock()
"""Threads that need the same file wait for one download."""


def cache_folder() -> Path:
    """The system's folder for files that can be downloaded again; every data set has a subfolder."""
    return platformdirs.user_cache_path("bemi", appauthor=False, opinion=False)


def folders(name: str) -> dict[str, Path]:
    """Folders that may hold a data set's files, by the words for them; the first that has a file is used."""
    root = os.environ.get(FOLDER_VARIABLE)
    users = {f"{FOLDER_VARIABLE} folder": Path(root) / name} if root else {}
    return users | {"cache": cache_folder() / name}


def place(known: Description, file: DataFile) -> str | None:
    """In words, the folder that has a file, or None."""
    present = (label for label, folder in folders(known.name).items() if os.path.exists(folder / file.name))
    return next(present, None)


def stored(known: Description) -> dict[str, StoredFile]:
    """All files of a data set by name, exactly as published; missing ones are downloaded into the cache."""
    return {file.name: find(known, file) or _fetch(known, file) for file in known.files}


def find(known: Description, file: DataFile) -> StoredFile | None:
    """A file that is here, exactly as published, or None; nothing is downloaded."""
    label = place(known, file)
    if label is None:
        return None
    path = folders(known.name)[label] / file.name
    try:
        with open(path, "rb") as stream:
            content = stream.read(file.size + 1)
    except OSError as error:
        flaw: str | None = f"reading it failed: {error.strerror or error}"
    else:
        flaw = file.flaw(content)
    if flaw is not None:
        raise unusable(path, flaw, downloadable=bool(known.mirrors))
    return StoredFile(path, content)


def _fetch(known: Description, file: DataFile) -> StoredFile:
    with _one_download:
        # Another thread may have downloaded it meanwhile.
        if (found := find(known, file)) is not None:
            return found
        try:
            content = download(file, known.mirrors)
        except DownloadError as failures:
            raise DatasetError(
                f"{file.name} of {known.name} is not here and could not be downloaded: {failures}; {_by_hand(known)}"
            ) from None
        path = cache_folder() / known.name / file.name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically({path: content})
        except OSError as error:
            # Windows refuses to replace a file that is being read; if it exists, another process was faster.
            if not os.path.exists(path):
                reason = error.strerror or error
                raise DatasetError(f"{path} cannot be written: {reason}; {_by_hand(known)}") from None
        return StoredFile(path, content)


def _by_hand(known: Description) -> str:
    root = os.environ.get(FOLDER_VARIABLE)
    users = str(Path(root) / known.name) if root else f"{known.name} in a folder that {FOLDER_VARIABLE} is set to"
    names = ", ".join(file.name for file in known.files)
    return f"to supply the files by hand, put {names} into {cache_folder() / known.name} or into {users}"
