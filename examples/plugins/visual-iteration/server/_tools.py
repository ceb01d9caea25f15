"""The tools: what each takes, and what it does in the project. Pictures are kept in its folder `.visual`."""

from __future__ import annotations

import base64
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import _chromium
import _compare
import _png

LOOPBACK = frozenset(["localhost", "127.0.0.1", "::1"])
KEPT = ".visual"
MOCK, LATEST, DIFFERENCE = "mock", "page", "difference"
MOST = 4096  # pixels in either direction
SHOWN = 2_000_000  # bytes; larger pictures are named, not sent
Content = list[dict[str, Any]]


class ToolError(Exception):
    """A mistake of the caller, or a missing program; the model reads it."""


class Studio:
    """The project and its pictures."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.kept = self.root / KEPT

    def inside(self, path: str) -> Path:
        """A file of the project."""
        file = (self.root / path).resolve()
        if not file.is_relative_to(self.root):
            raise ToolError(f"{path} is outside of the project {self.root}; give a path below it")
        if not file.is_file():
            raise ToolError(f"there is no file {path} in {self.root}")
        return file

    def place(self, name: str) -> Path:
        """Where the picture of a name is kept."""
        if not re.fullmatch(r"[A-Za-z0-9][\w-]{0,63}", name):
            raise ToolError(f"{name!r} is no name for a picture: letters, digits, - and _ only")
        self.kept.mkdir(exist_ok=True)
        ignore = self.kept / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")  # pictures are for work, not for commits
        return self.kept / f"{name}.png"

    def picture(self, name: str, first: str) -> _png.Picture:
        """A picture that is there already; `first` is the tool that makes it."""
        file = self.place(name)
        if not file.is_file():
            raise ToolError(f"there is no picture {name!r}; call {first} first")
        return read(file)


def read(file: Path) -> _png.Picture:
    """A PNG file."""
    try:
        picture = _png.decode(file.read_bytes(), most=MOST)
    except ValueError as error:
        raise ToolError(f"{file.name} is no picture that can be read: {error}") from None
    return picture


def address(studio: Studio, source: str) -> str:
    """Where the browser goes: a file of the project, or a server of this machine."""
    parts = urlsplit(source)
    if parts.scheme in ("http", "https"):
        if parts.hostname not in LOOPBACK:
            raise ToolError(
                f"{parts.hostname} is not this machine; only files and {', '.join(sorted(LOOPBACK))} are shown"
            )
        return source
    if parts.scheme not in ("", "file"):
        raise ToolError(f"{parts.scheme}: is not shown; give a file of the project or http://127.0.0.1:PORT")
    return studio.inside(parts.path if parts.scheme else source).as_uri()


def screenshot(studio: Studio, source: str, name: str, width: int, height: int) -> Content:
    """Take a picture."""
    url, file = address(studio, source), studio.place(name)
    try:
        _chromium.capture(url, file, width, height)
    except _chromium.BrowserError as error:
        raise ToolError(str(error)) from None
    return _answer(file, {"name": name, "source": url, "width": width, "height": height})


def load_mock(studio: Studio, path: str) -> Content:
    """Keep a mock-up for comparisons."""
    picture = read(studio.inside(path))
    file = studio.place(MOCK)
    shutil.copyfile(studio.inside(path), file)
    return _answer(file, {"name": MOCK, "source": path, "width": picture.width, "height": picture.height})


def compare(studio: Studio, name: str, mock: str, tolerance: int) -> Content:
    """Measure a difference, and draw it."""
    page, wanted = studio.picture(name, "screenshot"), studio.picture(mock, "load_mock")
    found = _compare.compare(page, wanted, tolerance)
    file = studio.place(DIFFERENCE)
    file.write_bytes(_png.encode(found.drawn))
    return _answer(file, {"name": DIFFERENCE, "page": page.size, "mock": wanted.size, **found.numbers()})


def colour_at(studio: Studio, name: str, x: int, y: int) -> Content:
    """The colour of one pixel."""
    picture = studio.picture(name, "screenshot")
    if not (x < picture.width and y < picture.height):
        raise ToolError(
            f"({x}, {y}) is outside of {name!r}, which has {picture.width} x {picture.height} pixels"
        )
    return _answer(None, {"name": name, "x": x, "y": y, "colour": "#" + picture.pixel(x, y).hex()})


def list_images(studio: Studio) -> Content:
    """Which pictures there are."""
    files = sorted(studio.kept.glob("*.png")) if studio.kept.is_dir() else []
    return _answer(None, {"images": [{"name": file.stem, "size": read(file).size} for file in files]})


def _answer(file: Path | None, facts: dict[str, Any]) -> Content:
    if file is None:
        return [{"type": "text", "text": json.dumps(facts)}]
    data = file.read_bytes()
    text = {"type": "text", "text": json.dumps({**facts, "file": f"{KEPT}/{file.name}", "bytes": len(data)})}
    image = {"type": "image", "data": base64.b64encode(data).decode(), "mimeType": "image/png"}
    return [text, image] if len(data) <= SHOWN else [text]


class Argument(NamedTuple):
    """An argument: its kind, what it means, its default (none: it is required) and its limits."""

    kind: type
    about: str
    default: Any = None
    limits: tuple[int, int] = (0, MOST)

    def schema(self) -> dict[str, Any]:
        """For `tools/list`."""
        schema: dict[str, Any] = {
            "type": "string" if self.kind is str else "integer",
            "description": self.about,
        }
        if self.default is not None:
            schema["default"] = self.default
        if self.kind is int:
            schema["minimum"], schema["maximum"] = self.limits
        return schema

    def checked(self, name: str, value: Any) -> Any:
        """The value, if it is one."""
        if type(value) is not self.kind:
            raise ToolError(f"{name} is {'text' if self.kind is str else 'a whole number'}, not {value!r}")
        if self.kind is int and not self.limits[0] <= value <= self.limits[1]:
            raise ToolError(f"{name} is from {self.limits[0]} to {self.limits[1]}, not {value}")
        return value


class Tool(NamedTuple):
    """A tool, as the model sees it and as it runs."""

    name: str
    about: str
    arguments: dict[str, Argument]
    function: Callable[..., Content]

    def described(self) -> dict[str, Any]:
        """For `tools/list`."""
        schema = {
            "type": "object",
            "properties": {name: argument.schema() for name, argument in self.arguments.items()},
            "required": [name for name, argument in self.arguments.items() if argument.default is None],
            "additionalProperties": False,
        }
        return {"name": self.name, "description": self.about, "inputSchema": schema}

    def call(self, studio: Studio, given: dict[str, Any]) -> Content:
        """Run it with checked arguments."""
        unknown = sorted(set(given) - set(self.arguments))
        if unknown:
            raise ToolError(
                f"{self.name} has no argument {unknown[0]!r}; it has {', '.join(self.arguments) or 'none'}"
            )
        values: dict[str, Any] = {}
        for name, argument in self.arguments.items():
            if name not in given and argument.default is None:
                raise ToolError(f"{self.name} needs {name!r}: {argument.about}")
            values[name] = argument.checked(name, given.get(name, argument.default))
        return self.function(studio, **values)


_NAME = "name of the picture: letters, digits, - and _"
_SIZES = {
    "width": Argument(int, "width of the window in pixels", 1280, (1, MOST)),
    "height": Argument(int, "height of the window in pixels", 800, (1, MOST)),
}
_SOURCE = Argument(str, "path of an HTML file in the project, or http://127.0.0.1:PORT/...")
TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            "screenshot",
            "Take a picture of a page of this project or of a server on this machine; it is kept and returned.",
            {"source": _SOURCE, "name": Argument(str, _NAME, LATEST), **_SIZES},
            screenshot,
        ),
        Tool(
            "load_mock",
            "Load the PNG that the page shall look like; compare measures against it.",
            {"path": Argument(str, "path of a PNG file in the project")},
            load_mock,
        ),
        Tool(
            "compare",
            "Compare a picture with the mock-up: how many pixels differ, by how much, and in which areas.",
            {
                "name": Argument(str, _NAME, LATEST),
                "mock": Argument(str, "name of the picture to compare with", MOCK),
                "tolerance": Argument(int, "how far a colour may be off in each channel", 8, (0, 255)),
            },
            compare,
        ),
        Tool(
            "colour_at",
            "The colour of one pixel, in hex.",
            {
                "name": Argument(str, _NAME, LATEST),
                "x": Argument(int, "pixels from the left"),
                "y": Argument(int, "pixels from the top"),
            },
            colour_at,
        ),
        Tool("list_images", "The pictures that there are, with their sizes.", {}, list_images),
    )
}
