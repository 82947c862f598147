"""Files from their public homes: not a byte more than they should have, and none that is not theirs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from http.client import HTTPException
from urllib import request
from urllib.error import HTTPError, URLError

from bemi.datasets.description import DataFile

LONGEST_SILENCE = 30.0
"""Seconds to wait for a server's next byte."""

LONGEST_TRANSFER = 900.0
"""Seconds that a file may take in all, so that a byte now and then does not hold us forever."""

_CHUNK = 2**16


class DownloadError(Exception):
    """No mirror had the file; the message says for each what was wrong."""


def download(file: DataFile, mirrors: Sequence[str]) -> bytes:
    """Content of the file from the first mirror that has it."""
    failures = []
    for mirror in mirrors:
        url = mirror + file.name
        try:
            # One byte more than the file has tells a longer one, and an endless one costs no more than that.
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
    """An opener of http and https addresses; without handlers for others, no redirection leads to them either."""
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
