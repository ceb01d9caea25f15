"""Lines come out the same, however the stream is cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from soundstage.lifecycle import LineSplitter


def split(pieces: list[bytes], limit: int = 1024) -> list[str]:
    splitter = LineSplitter(limit)
    return [line for piece in pieces for line in splitter.feed(piece)] + splitter.flush()


def reference(data: bytes) -> list[str]:
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix(b"\r").decode("utf-8", "backslashreplace") for line in lines]


@given(st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\r\n", "ü".encode(), b"\xff", b"\x00", b"xyz"])))
def test_the_pieces_of_a_stream_do_not_matter(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    assert split(pieces) == reference(data) == split([bytes([byte]) for byte in data])


def test_a_character_cut_in_two_is_whole_again() -> None:
    assert split(["ü".encode()[:1], "ü\n".encode()[1:]]) == ["ü"]


def test_a_line_without_an_end_is_cut_at_the_limit_and_nothing_is_lost() -> None:
    lines = split([b"x" * 700, b"x" * 700, b"x" * 100, b"\nend"], limit=1000)
    assert [len(line) for line in lines] == [1400, 100, 3]
