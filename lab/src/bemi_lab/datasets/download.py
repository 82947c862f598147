"""Download a file from the first working mirror, never reading more than its size, and check its SHA-256.

Unlike a general downloader this one limits bytes, silence and total time, follows no redirection out of http and https,
and reports in one line what was wrong with every mirror.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from http.client import HTTPException
from urllib import request
from urllib.error import HTTPError, URLError

from bemi_lab.datasets.description import DataFile

LONGEST_SILENCE = 30.0
"""Seconds to wait for a server's next byte."""

LONGEST_TRANSFER = 900.0
"""Seconds that a file may take altogether, so that a dripping server cannot hold us forever."""

_CHUNK = 2**16


class DownloadError(Exception):
    """No mirror delivered the file; the message says what was wrong with each."""


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
