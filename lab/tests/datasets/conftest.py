import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from bemi_lab import datasets
from bemi_lab.datasets import Dataset, registry, storage

from . import tiny


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """An empty cache in place of the user's, and no BEMI_DATA."""
    folder = tmp_path / "cache"
    monkeypatch.setattr(storage, "cache_folder", lambda: folder)
    monkeypatch.delenv("BEMI_DATA", raising=False)
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch, cache) -> Path:
    """The folder of a known set "tiny" in BEMI_DATA, all files in place and no mirror."""
    monkeypatch.setitem(registry.SETS, "tiny", tiny.describe())
    monkeypatch.setenv("BEMI_DATA", str(tmp_path / "data"))
    folder = tmp_path / "data" / "tiny"
    folder.mkdir(parents=True)
    for name, content in tiny.FILES.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture(scope="session")
def real_set() -> Callable[[str], Dataset]:
    """Loader of real sets; one whose files are not all in BEMI_DATA skips visibly, so that tests download nothing."""

    def load(name: str) -> Dataset:
        known = registry.SETS[name]
        for file in known.files:
            if not Path(os.environ.get("BEMI_DATA", "nowhere"), known.folder or name, file.name).exists():
                pytest.skip(f"{known.folder or name}/{file.name} is not in BEMI_DATA")
        if not known.here:
            pytest.skip(f"the package {known.package} is not installed")
        return datasets.load(name)

    return load


class Home(ThreadingHTTPServer):
    """A server whose first path component says how it behaves."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: Counter[str] = Counter()
        self.closing = threading.Event()

    def mirror(self, behaviour: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{behaviour}/"


class Handler(BaseHTTPRequestHandler):
    server: Home

    def do_GET(self) -> None:
        _, behaviour, name = self.path.split("/")
        self.server.requests[behaviour] += 1
        try:
            getattr(self, behaviour)(tiny.FILES[name])
        except ConnectionError:  # the client had enough
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass

    def good(self, content: bytes) -> None:
        self.answer(200, {"Content-Length": len(content)}, content)

    def wrong(self, content: bytes) -> None:
        self.good(content[:-1] + bytes([content[-1] ^ 1]))

    def short(self, content: bytes) -> None:
        self.good(content[:-1])

    def long(self, content: bytes) -> None:
        self.good(content + b"\0")

    def cut(self, content: bytes) -> None:
        self.answer(200, {"Content-Length": len(content)}, content[: len(content) // 2])

    def cut_chunk(self, content: bytes) -> None:
        self.protocol_version = "HTTP/1.1"
        chunk = f"{len(content):x}\r\n".encode() + content[:5]
        self.answer(200, {"Transfer-Encoding": "chunked", "Connection": "close"}, chunk)

    def endless(self, content: bytes) -> None:
        self.answer(200, {}, content)
        while not self.server.closing.is_set():
            self.wfile.write(bytes(2**16))

    def gone(self, content: bytes) -> None:
        self.answer(404, {}, b"not here any more")

    def silent(self, content: bytes) -> None:
        self.server.closing.wait()

    def dripping(self, content: bytes) -> None:
        self.answer(200, {"Content-Length": len(content)}, b"")
        for byte in content:
            self.wfile.write(bytes([byte]))
            self.server.closing.wait(0.02)

    def garbage(self, content: bytes) -> None:
        self.wfile.write(b"who\r\nis\r\nthere\r\n\r\n")

    def to_good(self, content: bytes) -> None:
        self.answer(302, {"Location": self.path.replace("to_good", "good")}, b"")

    def to_file(self, content: bytes) -> None:
        self.answer(302, {"Location": Path(__file__).as_uri()}, b"")

    def to_ftp(self, content: bytes) -> None:
        self.answer(302, {"Location": "ftp://127.0.0.1/file"}, b"")

    def answer(self, status: int, headers: dict[str, object], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def home(monkeypatch) -> Iterator[Home]:
    """A server on this machine, which no proxy stands before."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Home() as server:
        # Its own wait for the request to stop is half a second unless told otherwise.
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.closing.set()
        server.shutdown()
        thread.join()
