"""PNG to pixels and back. Pure.

Pictures of 8 bits a channel, without interlacing: what browsers and design tools write. Source: the PNG
specification, third edition: chunks in section 5, filters in section 9, colour types in section 6.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
GRAY, PALETTE, GRAY_ALPHA, RGBA = 0, 3, 4, 6


class Picture(NamedTuple):
    """Rows of pixels, three bytes each: red, green, blue."""

    width: int
    height: int
    rows: tuple[bytes, ...]

    @property
    def size(self) -> list[int]:
        """Width and height."""
        return [self.width, self.height]

    def pixel(self, x: int, y: int) -> bytes:
        """The three bytes of one pixel."""
        return self.rows[y][3 * x : 3 * x + 3]


def decode(data: bytes, *, most: int = 1 << 16) -> Picture:
    """The pixels of a PNG file, on white where it is transparent.

    Raises:
        ValueError: if it is no PNG, broken, of another kind, or has more than `most` pixels in a direction.
    """
    if not data.startswith(SIGNATURE):
        raise ValueError("no PNG")
    chunks = list(_chunks(data))
    header = next((body for kind, body in chunks if kind == b"IHDR"), b"")
    if len(header) != 13:
        raise ValueError("no header")
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", header)
    if depth != 8 or colour not in CHANNELS or interlaced:
        raise ValueError(
            f"{depth} bits, colour type {colour}, interlaced {interlaced}: only plain 8 bits are read"
        )
    if not (0 < width <= most and 0 < height <= most):
        raise ValueError(f"{width} x {height} pixels, at most {most} x {most}")
    raw = _inflated(
        b"".join(body for kind, body in chunks if kind == b"IDAT"), height * (width * CHANNELS[colour] + 1)
    )
    palette = next((body for kind, body in chunks if kind == b"PLTE"), b"")
    lines = _unfiltered(raw, width * CHANNELS[colour], CHANNELS[colour])
    return Picture(width, height, tuple(_rgb(line, colour, palette) for line in lines))


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(SIGNATURE)
    while at + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        if len(body) < length or data[at + 8 + length : at + 12 + length] != struct.pack(
            ">I", zlib.crc32(kind + body)
        ):
            raise ValueError("cut off or damaged")
        yield kind, body
        if kind == b"IEND":
            return
        at += 12 + length
    raise ValueError("cut off or damaged")


def _inflated(data: bytes, size: int) -> bytes:
    try:
        raw = zlib.decompressobj().decompress(data, size)  # no more than the header says, whatever is in it
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if len(raw) != size:
        raise ValueError("cut off or damaged")
    return raw


def _unfiltered(raw: bytes, length: int, step: int) -> Iterator[bytes]:
    above = bytes(length)
    for at in range(0, len(raw), length + 1):
        kind, line = raw[at], bytearray(raw[at + 1 : at + 1 + length])
        if kind == 1:
            for i in range(step, length):
                line[i] = (line[i] + line[i - step]) & 255
        elif kind == 2:
            line = bytearray((a + b) & 255 for a, b in zip(line, above))  # noqa: B905  (equally long)
        elif kind == 3:
            for i in range(length):
                line[i] = (line[i] + (((line[i - step] if i >= step else 0) + above[i]) >> 1)) & 255
        elif kind == 4:
            _paeth(line, above, step)
        elif kind:
            raise ValueError(f"unknown filter {kind}")
        above = bytes(line)
        yield above


def _paeth(line: bytearray, above: bytes, step: int) -> None:
    for i in range(len(line)):
        left, corner = (line[i - step], above[i - step]) if i >= step else (0, 0)
        up = above[i]
        near_left, near_up, near_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
        if near_left <= near_up and near_left <= near_corner:
            guess = left
        else:
            guess = up if near_up <= near_corner else corner
        line[i] = (line[i] + guess) & 255


def _rgb(line: bytes, colour: int, palette: bytes) -> bytes:
    if colour == GRAY:
        return bytes(value for value in line for _ in range(3))
    if colour == PALETTE:
        if line and 3 * (max(line) + 1) > len(palette):
            raise ValueError("a colour that is not in the palette")
        return b"".join(palette[3 * value : 3 * value + 3] for value in line)
    if colour in (GRAY_ALPHA, RGBA):
        step = CHANNELS[colour]
        alphas = line[step - 1 :: step]
        channels = [line[i::step] for i in range(step - 1)] * (3 if colour == GRAY_ALPHA else 1)
        if alphas.count(255) != len(alphas):
            channels = [bytes((v * a + 255 * (255 - a)) // 255 for v, a in zip(c, alphas)) for c in channels]  # noqa: B905
        mixed = bytearray(3 * len(alphas))
        for number, channel in enumerate(channels):
            mixed[number::3] = channel
        return bytes(mixed)
    return line


def encode(picture: Picture) -> bytes:
    """A PNG file with these pixels; equal pictures give equal files."""
    header = struct.pack(">IIBBBBB", picture.width, picture.height, 8, 2, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + row for row in picture.rows))
    chunks = ((b"IHDR", header), (b"IDAT", body), (b"IEND", b""))
    return SIGNATURE + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
