"""Pages as they arrive, packed or plain: whole when they are whole, and stopped early when they are too large."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.errors import SourceError
from deep_research.web.net.body import BodyReader

MIB = 1024 * 1024


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "identity": bytes,
    "gzip": gzip.compress,
    "X-GZip": gzip.compress,
    "deflate": zlib.compress,
    " deflate ": raw_deflate,
}


def unpack(
    encoding: str, sent: bytes, *, step: int = 64 * 1024, max_bytes: int = MIB, max_decoded_bytes: int = MIB
) -> bytes:
    body = BodyReader(encoding, max_bytes=max_bytes, max_decoded_bytes=max_decoded_bytes)
    for start in range(0, len(sent), step):
        body.feed(sent[start : start + step])
    return body.finish()


@given(st.binary(max_size=2000), st.sampled_from(sorted(PACKERS)), st.integers(1, 300))
def test_a_page_comes_out_as_it_went_in_whatever_the_pieces(page: bytes, encoding: str, step: int):
    assert unpack(encoding, PACKERS[encoding](page), step=step) == page


def test_a_page_in_two_members_is_read_whole():
    assert unpack("gzip", gzip.compress(b"one ") + gzip.compress(b"two"), step=7) == b"one two"


def test_an_empty_body_is_an_empty_page():
    assert unpack("gzip", b"") == b""


@pytest.mark.parametrize("encoding", ["gzip", "deflate", " deflate "])
def test_a_bomb_is_stopped_before_it_is_unpacked(encoding: str):
    bomb = PACKERS[encoding](bytes(32 * MIB))
    tracemalloc.start()
    try:
        with pytest.raises(SourceError, match="larger than 2 MiB"):
            unpack(encoding, bomb, max_decoded_bytes=2 * MIB)
        assert tracemalloc.get_traced_memory()[1] < 8 * MIB
    finally:
        tracemalloc.stop()


def test_the_limits_are_exact():
    assert unpack("", bytes(100), max_bytes=100) == bytes(100)
    assert unpack("gzip", gzip.compress(bytes(100)), max_decoded_bytes=100) == bytes(100)
    with pytest.raises(SourceError, match="larger"):
        unpack("", bytes(101), max_bytes=100)
    with pytest.raises(SourceError, match="larger"):
        unpack("gzip", gzip.compress(bytes(101)), max_decoded_bytes=100)


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "compress", "gzip, br"])
def test_a_compression_that_was_not_asked_for_is_refused_unread(encoding: str):
    with pytest.raises(SourceError, match="not asked for"):
        BodyReader(encoding, max_bytes=MIB, max_decoded_bytes=MIB)


@pytest.mark.parametrize(
    "sent",
    [
        b"<html>not packed at all",
        gzip.compress(b"cut short" * 100)[:-9],
        gzip.compress(b"first") + b"rubbish",
        gzip.compress(b"") * 100,
        gzip.compress(b"checked")[:-8] + bytes(8),
    ],
    ids=["plain", "cut", "rubbish behind", "many members", "checksum"],
)
def test_damage_is_said_and_nothing_of_the_page(sent: bytes):
    with pytest.raises(SourceError) as error:
        unpack("gzip", sent)
    assert str(error.value) == "The page's compression is damaged."
