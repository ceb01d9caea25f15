"""Two pictures, and where they differ. Pure."""

from __future__ import annotations

from typing import Any, NamedTuple

from _png import Picture

CELL = 16  # pixels; differences in neighbouring cells belong to one area
MOST_AREAS = 12
MARKED = b"\xe0\x00\x60"


class Difference(NamedTuple):
    """How two pictures differ. Areas are x, y, width, height, the largest first."""

    pixels: int
    total: int
    largest: int
    areas: tuple[tuple[int, int, int, int], ...]
    drawn: Picture

    def numbers(self) -> dict[str, Any]:
        """For the model."""
        return {
            "differing_pixels": self.pixels,
            "of_pixels": self.total,
            "share": round(self.pixels / self.total, 6),
            "largest_channel_difference": self.largest,
            "areas": [dict(zip(("x", "y", "width", "height"), area)) for area in self.areas],  # noqa: B905
            "same": self.pixels == 0,
        }


def compare(page: Picture, mock: Picture, tolerance: int) -> Difference:
    """Where two pictures differ by more than `tolerance` in a channel. What only one of them covers differs."""
    width, height = max(page.width, mock.width), max(page.height, mock.height)
    both = min(page.width, mock.width)
    cells: dict[tuple[int, int], list[int]] = {}
    pixels, largest, rows = 0, 0, []
    for y in range(height):
        inside = y < page.height and y < mock.height
        drawn = bytearray(_faded(page.rows[y], width) if y < page.height else b"\xff" * 3 * width)
        beyond = range(both, width) if inside else range(width)
        found, off = _in_row(page.rows[y], mock.rows[y], both, tolerance) if inside else ([], 0)
        largest = max(largest, off, 255 if beyond else 0)
        for x in (*found, *beyond):
            drawn[3 * x : 3 * x + 3] = MARKED
            _widen(cells, x, y)
        pixels += len(found) + len(beyond)
        rows.append(bytes(drawn))
    return Difference(pixels, width * height, largest, _areas(cells), Picture(width, height, tuple(rows)))


def _in_row(page: bytes, mock: bytes, width: int, tolerance: int) -> tuple[list[int], int]:
    """The columns that differ, and the largest difference in the row."""
    if page[: 3 * width] == mock[: 3 * width]:
        return [], 0
    offs = [abs(a - b) for a, b in zip(page[: 3 * width], mock[: 3 * width])]  # noqa: B905
    return [x for x in range(width) if max(offs[3 * x : 3 * x + 3]) > tolerance], max(offs)


def _faded(row: bytes, width: int) -> bytes:
    return bytes(192 + value // 4 for value in row) + b"\xff" * (3 * width - len(row))


def _widen(cells: dict[tuple[int, int], list[int]], x: int, y: int) -> None:
    box = cells.setdefault((x // CELL, y // CELL), [x, y, x, y])
    box[:] = min(box[0], x), min(box[1], y), max(box[2], x), max(box[3], y)


def _areas(cells: dict[tuple[int, int], list[int]]) -> tuple[tuple[int, int, int, int], ...]:
    """One box around each group of neighbouring cells."""
    left = dict(cells)
    found = []
    while left:
        todo, boxes = [next(iter(left))], []
        while todo:
            column, row = todo.pop()
            box = left.pop((column, row), None)
            if box is not None:
                boxes.append(box)
                todo += [(column + i, row + j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
        x, y = min(box[0] for box in boxes), min(box[1] for box in boxes)
        found.append((x, y, max(box[2] for box in boxes) - x + 1, max(box[3] for box in boxes) - y + 1))
    return tuple(sorted(found, key=lambda area: (-area[2] * area[3], area))[:MOST_AREAS])
