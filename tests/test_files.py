"""Files appear whole or not at all."""

import errno
import os

import pytest

from bemi import files
from bemi.files import write_atomically


def test_files_are_written_with_ordinary_permissions(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    write_atomically({tmp_path / "a": b"1", tmp_path / "b": b"2"})
    assert (tmp_path / "a").read_bytes() + (tmp_path / "b").read_bytes() == b"12"
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_a_failure_leaves_what_was_there(error, tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"old")
    synced = []

    def fail_at_the_second(descriptor):
        synced.append(descriptor)
        if len(synced) == 2:
            raise error

    monkeypatch.setattr(files.os, "fsync", fail_at_the_second)
    with pytest.raises(type(error)):
        write_atomically({tmp_path / "a": b"new", tmp_path / "b": b"new"})
    assert os.listdir(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*model\.bemi'"):
        write_atomically({tmp_path / "model.bemi": b"1"})
