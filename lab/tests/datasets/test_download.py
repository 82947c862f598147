"""Downloads from a server on this machine that misbehaves on demand."""

import socket

import pytest
from bemi_lab.datasets.storage import DownloadError, download

from . import tiny

NAME = "train-images-idx3-ubyte.gz"
CONTENT = tiny.FILES[NAME]
FILE = tiny.data_file(NAME, CONTENT)


def test_the_first_good_mirror_is_enough(home):
    assert download(FILE, [home.mirror("good"), home.mirror("gone")]) == CONTENT
    assert home.requests == {"good": 1}


BAD = {
    "wrong": "its SHA-256 is ",
    "short": f"it has {len(CONTENT) - 1} bytes, should have {len(CONTENT)}",
    "long": f"it has more than {len(CONTENT)} bytes",
    "cut": "",  # the words are Python's or ours, as the version has it
    "cut_chunk": "",
    "endless": f"it has more than {len(CONTENT)} bytes",
    "gone": "the server answered 404",
    "silent": "timed out",
    "dripping": "it took longer than 0.3 seconds",
    "garbage": "",
    "to_file": "the server answered 302",
    "to_ftp": "unknown url type: ftp",
}


@pytest.mark.parametrize(("behaviour", "words"), BAD.items(), ids=BAD)
def test_a_bad_mirror_is_passed_over(home, monkeypatch, behaviour, words):
    monkeypatch.setattr("bemi_lab.datasets.storage.LONGEST_SILENCE", 0.3)
    monkeypatch.setattr("bemi_lab.datasets.storage.LONGEST_TRANSFER", 0.3)
    assert download(FILE, [home.mirror(behaviour), home.mirror("good")]) == CONTENT
    with pytest.raises(DownloadError) as caught:
        download(FILE, [home.mirror(behaviour)])
    message = str(caught.value)
    assert message.startswith(f"{home.mirror(behaviour)}{NAME}: {words}")
    assert len(message) > len(f"{home.mirror(behaviour)}{NAME}: ")
    assert "\n" not in message


def test_redirections_are_followed(home):
    assert download(FILE, [home.mirror("to_good")]) == CONTENT
    assert home.requests == {"to_good": 1, "good": 1}


def test_only_http_and_https(home, tmp_path):
    (tmp_path / NAME).write_bytes(CONTENT)
    for mirror in (f"{tmp_path.as_uri()}/", "ftp://127.0.0.1/", f"data:,{tmp_path}/"):
        with pytest.raises(DownloadError, match="unknown url type"):
            download(FILE, [mirror])


def test_every_mirror_is_named_when_all_fail(home):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        # Bound but not listening: connections are refused.
        closed = f"http://127.0.0.1:{unused.getsockname()[1]}/"
        with pytest.raises(DownloadError) as caught:
            download(FILE, [home.mirror("gone"), closed])
    message = str(caught.value)
    assert f"{home.mirror('gone')}{NAME}: the server answered 404; {closed}{NAME}: " in message
    assert "refused" in message
