"""Where files are looked for, what is accepted, and what a failed download leaves behind."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from bemi_lab.datasets import DatasetError, storage
from bemi_lab.datasets.storage import cache_folder, place, stored

from . import tiny

NAME = "train-images-idx3-ubyte.gz"


def put(folder: Path, *names: str, content: bytes | None = None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or tiny.FILES:
        (folder / name).write_bytes(tiny.FILES[name] if content is None else content)


def everything_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if not path.is_dir())


def complaint(known) -> str:
    with pytest.raises(DatasetError) as caught:
        stored(known)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_the_users_folder_comes_first(folder, cache, home):
    put(cache / "tiny")
    files = stored(tiny.describe(home.mirror("good")))
    assert {file.path.parent for file in files.values()} == {folder}
    assert {name: file.content for name, file in files.items()} == tiny.FILES
    assert not home.requests


def test_what_the_users_folder_lacks_is_in_the_cache(folder, cache, home):
    (folder / NAME).unlink()
    put(cache / "tiny", NAME)
    known = tiny.describe(home.mirror("good"))
    assert [place(known, file) for file in known.files] == ["cache", *["BEMI_DATA folder"] * 3]
    assert stored(known)[NAME].path == cache / "tiny" / NAME
    assert not home.requests


@pytest.mark.parametrize("missing", tiny.FILES)
def test_what_neither_has_is_downloaded_into_the_cache_once(folder, cache, home, missing):
    (folder / missing).unlink()
    known = tiny.describe(home.mirror("gone"), home.mirror("good"))
    for _ in range(2):
        assert {name: file.content for name, file in stored(known).items()} == tiny.FILES
        assert (cache / "tiny" / missing).read_bytes() == tiny.FILES[missing]
    assert everything_in(cache) == [missing]
    assert home.requests == {"gone": 1, "good": 1}


@pytest.mark.parametrize("value", [None, ""])
def test_without_the_variable(monkeypatch, cache, home, value):
    if value is not None:
        monkeypatch.setenv("BEMI_DATA", value)
    files = stored(tiny.describe(home.mirror("good")))
    assert {file.path.parent for file in files.values()} == {cache / "tiny"}
    assert everything_in(cache) == sorted(tiny.FILES)


def test_downloaded_files_have_ordinary_permissions(cache, home, tmp_path):
    (tmp_path / "ordinary").touch()
    files = stored(tiny.describe(home.mirror("good")))
    assert {file.path.stat().st_mode for file in files.values()} == {(tmp_path / "ordinary").stat().st_mode}


@pytest.mark.parametrize("where", ["folder", "cache"])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", f"it has 0 bytes, should have {len(tiny.FILES[NAME])}"),
        (tiny.FILES[NAME] + b"\0", f"it has more than {len(tiny.FILES[NAME])} bytes"),
        (tiny.FILES[NAME][:-1] + b"\1", "its SHA-256 is "),
    ],
    ids=["empty", "long", "changed"],
)
def test_a_wrong_file_is_an_error_not_a_reason_to_download(folder, cache, home, where, content, words):
    path = (folder if where == "folder" else cache / "tiny") / NAME
    (folder / NAME).unlink()
    put(path.parent, NAME, content=content)
    message = complaint(tiny.describe(home.mirror("good")))
    assert message.startswith(f"{path} is damaged or the wrong file: {words}")
    assert message.endswith(f"put the set's {NAME} there, or delete it to have it downloaded")
    assert path.read_bytes() == content
    assert not home.requests


def test_a_folder_in_the_place_of_a_file(folder):
    (folder / NAME).unlink()
    (folder / NAME).mkdir()
    assert f"{folder / NAME} is damaged or the wrong file: reading it failed: " in complaint(tiny.describe())


@pytest.mark.parametrize("behaviour", ["wrong", "short", "long", "cut", "cut_chunk", "endless", "gone"])
def test_a_failed_download_leaves_nothing(cache, home, behaviour):
    known = tiny.describe(home.mirror(behaviour))
    complaint(known)
    assert not cache.exists()
    # The next attempt is not hindered either.
    assert stored(tiny.describe(home.mirror("good"))).keys() == tiny.FILES.keys()


def test_a_later_file_that_fails_leaves_the_earlier_ones(cache, home, monkeypatch):
    name = "t10k-labels-idx1-ubyte.gz"
    known = tiny.describe(home.mirror("good"))
    with monkeypatch.context() as broken:
        broken.setitem(tiny.FILES, name, b"something else")
        assert name in complaint(known)
    assert everything_in(cache) == sorted(set(tiny.FILES) - {name})
    stored(known)
    assert everything_in(cache) == sorted(tiny.FILES)
    assert home.requests == {"good": 5}


def test_when_all_mirrors_fail_the_error_says_where_the_files_belong(folder, cache, home):
    (folder / NAME).unlink()
    gone, wrong = home.mirror("gone"), home.mirror("wrong")
    message = complaint(tiny.describe(gone, wrong))
    assert message.startswith(
        f"{NAME} of tiny is not here and could not be downloaded: {gone}{NAME}: the server answered 404;"
    )
    assert f"{wrong}{NAME}: its SHA-256 is " in message
    assert message.endswith(f"put {', '.join(tiny.FILES)} into {cache / 'tiny'} or into {folder}")


def test_the_error_names_the_variable_when_it_is_not_set(cache, home):
    message = complaint(tiny.describe(home.mirror("gone")))
    assert message.endswith(f"into {cache / 'tiny'} or into tiny in a folder that BEMI_DATA is set to")


def test_a_full_disk_leaves_nothing(cache, home, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    message = complaint(tiny.describe(home.mirror("good")))
    assert message.startswith(f"{cache / 'tiny' / NAME} cannot be written: No space left on device; to supply")
    assert everything_in(cache) == []


def test_a_cache_that_cannot_be_made(cache, home):
    cache.write_bytes(b"a file")
    assert "cannot be written: " in complaint(tiny.describe(home.mirror("good")))
    assert cache.read_bytes() == b"a file"


def test_two_threads_share_a_download(cache, home):
    known = tiny.describe(home.mirror("good"))
    together = threading.Barrier(2)

    def get():
        together.wait()
        return stored(known)

    with ThreadPoolExecutor(2) as pool:
        first, second = (work.result() for work in [pool.submit(get), pool.submit(get)])
    assert first == second
    assert everything_in(cache) == sorted(tiny.FILES)
    assert home.requests == {"good": 4}


def test_two_processes_at_once_end_with_one_whole_file(cache, home, monkeypatch):
    """Another process writes the file between our look and our write."""
    fetched = storage.download

    def slowly(file, mirrors):
        content = fetched(file, mirrors)
        put(cache / "tiny", file.name)
        return content

    monkeypatch.setattr(storage, "download", slowly)
    assert {name: file.content for name, file in stored(tiny.describe(home.mirror("good"))).items()} == tiny.FILES
    assert everything_in(cache) == sorted(tiny.FILES)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other places")
def test_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "bemi"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "bemi"
