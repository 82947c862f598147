"""Files of data sets: in the user's folder, in the cache, or downloaded into it from the first working mirror.

Wherever a file comes from, it must be exactly the published one.  Unlike a general downloader this one limits bytes,
silence and total time, follows no redirection out of http and https, and reports in one line what was wrong with every
mirror.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING
from urllib import request
from urllib.error import HTTPError, URLError

import platformdirs

from bemi.files import write_atomically

if TYPE_CHECKING:
    from bemi_lab.datasets.registry import Description

FOLDER_VARIABLE = "BEMI_DATA"
"""Environment variable that names the user's folder; a data set's files are in the subfolder of its name."""

LONGEST_SILENCE = 30.0
"""Seconds to wait for a server's next byte."""

LONGEST_TRANSFER = 900.0
"""Seconds that a file may take altogether, so that a dripping server cannot hold us forever."""

_CHUNK = 2**16

_one_download = threading.Lock()
"""Threads that need the same file wait for one download."""


class DatasetError(ValueError):
    """A data set cannot be loaded; the message says what is wrong and which file belongs where."""


@dataclass(frozen=True)
class DataFile:
    """A file as its publishers made it."""

    name: str
    size: int
    sha256: str

    def flaw(self, content: bytes) -> str | None:
        """How ``content`` differs from the published file, or None; reading one byte too many is enough to tell."""
        if len(content) > self.size:
            return f"it has more than {self.size} bytes"
        if len(content) < self.size:
            return f"it has {len(content)} bytes, should have {self.size}"
        digest = hashlib.sha256(content).hexdigest()
        return None if digest == self.sha256 else f"its SHA-256 is {digest}, should be {self.sha256}"


@dataclass(frozen=True)
class StoredFile:
    """A file that was found or downloaded."""

    path: Path
    content: bytes

    def unusable(self, reason: str, *, downloadable: bool = True) -> DatasetError:
        """The error that says what is wrong with it and what to do."""
        otherwise = ", or delete it to have it downloaded" if downloadable else ""
        return DatasetError(
            f"{self.path} is damaged or the wrong file: {reason}; put the set's {self.path.name} there{otherwise}"
        )


class DownloadError(Exception):
    """No mirror delivered the file; the message says what was wrong with each."""


def cache_folder() -> Path:
    """The system's folder for files that can be downloaded again; every data set has a subfolder."""
    return platformdirs.user_cache_path("bemi", appauthor=False, opinion=False)


def folders(known: Description) -> dict[str, Path]:
    """Folders that may hold a data set's files, by the words for them; the first that has a file is used."""
    root, name = os.environ.get(FOLDER_VARIABLE), known.folder or known.name
    users = {f"{FOLDER_VARIABLE} folder": Path(root) / name} if root else {}
    return users | {"cache": cache_folder() / name}


def place(known: Description, file: DataFile) -> str | None:
    """In words, the folder that has a file, or None."""
    present = (label for label, folder in folders(known).items() if os.path.exists(folder / file.name))
    return next(present, None)


def stored(known: Description) -> dict[str, StoredFile]:
    """All files of a data set by name, exactly as published; missing ones are downloaded into the cache."""
    return {file.name: find(known, file) or _fetch(known, file) for file in known.files}


def find(known: Description, file: DataFile) -> StoredFile | None:
    """A file that is here, exactly as published, or None; nothing is downloaded."""
    label = place(known, file)
    if label is None:
        return None
    path, content = folders(known)[label] / file.name, b""
    try:
        with open(path, "rb") as stream:
            content = stream.read(file.size + 1)
        flaw = file.flaw(content)
    except OSError as error:
        flaw = f"reading it failed: {error.strerror or error}"
    stored = StoredFile(path, content)
    if flaw is not None:
        raise stored.unusable(flaw, downloadable=bool(known.mirrors))
    return stored


def _fetch(known: Description, file: DataFile) -> StoredFile:
    with _one_download:
        # Another thread may have downloaded it meanwhile.
        if (found := find(known, file)) is not None:
            return found
        if not known.mirrors:
            places = " or ".join(map(str, folders(known).values()))
            raise DatasetError(
                f"{file.name} is not here and cannot be downloaded; put it into {places} "
                f"({FOLDER_VARIABLE} names the folder of {known.folder or known.name}/)"
            )
        try:
            content = download(file, known.mirrors)
        except DownloadError as failures:
            raise DatasetError(
                f"{file.name} of {known.name} is not here and could not be downloaded: {failures}; {_by_hand(known)}"
            ) from None
        path = folders(known)["cache"] / file.name
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
    *users, _ = folders(known).values()
    user = str(users[0]) if users else f"{known.name} in a folder that {FOLDER_VARIABLE} is set to"
    names = ", ".join(file.name for file in known.files)
    return f"to supply the files by hand, put {names} into {folders(known)['cache']} or into {user}"


def download(file: DataFile, mirrors: Sequence[str]) -> bytes:
    """Content of the file from the first mirror that delivers it intact."""
    failures = []
    for mirror in mirrors:
        url = mirror + file.name
        try:
            # One extra byte reveals a file that is too long, however long it is.
            content = _read(url, limit=file.size + 1)
            flaw = file.flaw(content)
        except (OSError, HTTPException) as error:
            flaw = _reason(error)
        if flaw is None:
            return content
        failures.append(f"{url}: {flaw}")
    raise DownloadError("; ".join(failures))


def _read(url: str, limit: int) -> bytes:
    deadline = time.monotonic() + LONGEST_TRANSFER
    content = bytearray()
    with _opener().open(url, timeout=LONGEST_SILENCE) as response:
        while len(content) < limit and (part := response.read1(min(_CHUNK, limit - len(content)))):
            content += part
            if time.monotonic() > deadline:
                raise TimeoutError(f"it took longer than {LONGEST_TRANSFER:g} seconds")
    return bytes(content)


def _opener() -> request.OpenerDirector:
    """An opener without handlers for anything but http and https, so that no redirection can lead elsewhere."""
    opener = request.OpenerDirector()
    opener.addheaders = [("User-Agent", "bemi")]
    for handler in (
        request.ProxyHandler(),
        request.HTTPHandler(),
        request.HTTPSHandler(),
        request.HTTPRedirectHandler(),
        request.HTTPDefaultErrorHandler(),
        request.HTTPErrorProcessor(),
        request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _reason(error: OSError | HTTPException) -> str:
    """One line about a failed transfer."""
    if isinstance(error, HTTPError):
        error.close()  # it holds the connection
        return f"the server answered {error.code}"
    text = str(error.reason if isinstance(error, URLError) else error)
    return " ".join(text.split()) or type(error).__name__
