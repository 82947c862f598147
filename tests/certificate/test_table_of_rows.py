"""What forged proofs do not reach: rows beyond a table, and bytes after a certificate that lie in another piece."""

import gzip
import io

import pytest

from bemi.certificate import CertificateError, Table
from bemi.certificate.reading import _PIECE, _unpacked


@pytest.mark.parametrize("row", [2, 5, -3])
def test_rows_beyond_a_table_are_none(row):
    table = Table(2)
    table.extend([(1, 2), (3, 4)])
    assert (table[1], table[-1]) == ((3, 4), (3, 4))
    with pytest.raises(IndexError):
        table[row]


def test_bytes_after_the_last_piece_are_refused():
    rng = bytes((7 * k * k + k // 3) % 251 for k in range(40))
    packed = gzip.compress(rng)
    assert b"".join(_unpacked(io.BytesIO(packed), "m.cert")) == rng

    class Pieces(io.BytesIO):
        """A file whose compressed text ends where a piece does."""

        def read(self, size=-1):
            return super().read(len(packed) if size == _PIECE else size)

    with pytest.raises(CertificateError, match="unexpected bytes at its end"):
        list(_unpacked(Pieces(packed + b"more"), "m.cert"))
