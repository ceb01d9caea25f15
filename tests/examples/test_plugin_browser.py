"""The MCP server of visual-iteration: with the official client, with a real browser, and byte by byte."""

from __future__ import annotations

import asyncio
import base64
import http.server
import importlib.util
import json
import os
import shutil
import struct
import subprocess
import sys
import threading
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

SERVER = Path(__file__).resolve().parents[2] / "examples/plugins/visual-iteration/server"
PAGE = '<body style="margin:0;background:#fff"><div style="width:40px;height:20px;background:#336699"></div>'
needs_browser = pytest.mark.skipif(
    shutil.which("chromium") is None, reason="needs Chromium: apt install chromium"
)


def module(name: str) -> Any:
    """A module of the server, as it imports it itself."""
    spec = importlib.util.spec_from_file_location(name, SERVER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(name, loaded)
    spec.loader.exec_module(loaded)
    return loaded


png, comparing = module("_png"), module("_compare")


def solid(width: int, height: int, colour: str = "ffffff") -> Any:
    return png.Picture(width, height, (bytes.fromhex(colour) * width,) * height)


def with_client(
    folder: Path, body: Callable[[Any], Awaitable[Any]], environment: dict[str, str] | None = None
) -> Any:
    """Run `body` with the official client connected to the server."""
    from mcp import ClientSession, StdioServerParameters  # importing it takes a second
    from mcp.client.stdio import stdio_client

    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-B", str(SERVER / "browser_tools.py")],
        cwd=folder,
        env={"PATH": os.environ["PATH"], **(environment or {})},
    )

    async def main() -> Any:
        async with stdio_client(parameters) as (reading, writing), ClientSession(reading, writing) as client:
            await client.initialize()
            return await body(client)

    return asyncio.run(main())


async def call(client: Any, tool: str, /, **arguments: Any) -> Any:
    """The facts that a tool answers, or the text of its error."""
    result = await client.call_tool(tool, arguments)
    text = result.content[0].text
    if result.model_dump(by_alias=True)["isError"]:
        return text
    for image in result.content[1:]:
        assert base64.b64decode(image.data).startswith(png.SIGNATURE)
    return json.loads(text)


# --- the protocol


def test_the_official_client_lists_tools_whose_arguments_are_described(tmp_path):
    async def body(client):
        await client.send_ping()
        return (await client.list_tools()).tools

    tools = {tool.name: tool.model_dump(by_alias=True) for tool in with_client(tmp_path, body)}
    assert sorted(tools) == ["colour_at", "compare", "list_images", "load_mock", "screenshot"]
    for tool in tools.values():
        assert tool["description"]
        assert tool["inputSchema"]["additionalProperties"] is False
        assert all(field["description"] for field in tool["inputSchema"]["properties"].values())
    assert tools["screenshot"]["inputSchema"]["required"] == ["source"]


def test_lines_that_are_no_requests_are_answered_with_the_errors_of_the_protocol(tmp_path):
    lines = [
        "not json",
        "[]",
        '{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        '{"jsonrpc": "2.0", "id": 1, "method": "no/such"}',
        '{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "fly"}}',
        '{"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {"protocolVersion": "1999-01-01"}}',
        '{"jsonrpc": "2.0", "id": 4, "method": "initialize", "params": {"protocolVersion": "2024-11-05"}}',
    ]
    done = subprocess.run(
        [sys.executable, "-B", str(SERVER / "browser_tools.py")],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=30,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(a["id"], a["error"]["code"]) for a in answers[:4]] == [
        (None, -32700),
        (None, -32600),
        (1, -32601),
        (2, -32602),
    ]
    assert [a["result"]["protocolVersion"] for a in answers[4:]] == ["2025-11-25", "2024-11-05"]


REFUSED = [
    ("screenshot", {"source": "https://example.com/"}, "example.com is not this machine"),
    ("screenshot", {"source": "http://127.0.0.1.example.com/"}, "is not this machine"),
    ("screenshot", {"source": "http://localhost@example.com/"}, "example.com is not this machine"),
    ("screenshot", {"source": "file:///etc/passwd"}, "outside of the project"),
    ("screenshot", {"source": "../secret.html"}, "outside of the project"),
    ("screenshot", {"source": "out/passwd"}, "outside of the project"),
    ("screenshot", {"source": "javascript:alert(1)"}, "javascript: is not shown"),
    ("screenshot", {"source": "missing.html"}, "there is no file missing.html"),
    ("screenshot", {}, "screenshot needs 'source'"),
    ("screenshot", {"source": "a.html", "width": 0}, "width is from 1 to 4096"),
    ("screenshot", {"source": "a.html", "width": "12"}, "width is a whole number"),
    ("screenshot", {"source": "a.html", "name": "../x"}, "is no name for a picture"),
    ("screenshot", {"source": "a.html", "wide": 3}, "no argument 'wide'"),
    ("load_mock", {"path": "a.html"}, "no picture that can be read: no PNG"),
    ("load_mock", {"path": "/etc/passwd"}, "outside of the project"),
    ("compare", {}, "no picture 'page'; call screenshot first"),
    ("compare", {"tolerance": 256}, "tolerance is from 0 to 255"),
    ("compare", {"tolerance": True}, "tolerance is a whole number"),
    ("colour_at", {"x": 0, "y": 0}, "call screenshot first"),
]


def test_what_the_tools_refuse_is_an_error_that_says_why(tmp_path):
    (tmp_path / "a.html").write_text(PAGE)
    (tmp_path / "out").symlink_to("/etc")

    async def body(client):
        return [await call(client, name, **arguments) for name, arguments, _ in REFUSED]

    for answer, (name, arguments, words) in zip(with_client(tmp_path, body), REFUSED, strict=True):
        assert words in answer, (name, arguments)


def test_without_a_browser_the_error_says_what_to_install(tmp_path):
    (tmp_path / "a.html").write_text(PAGE)

    async def body(client):
        return await call(client, "screenshot", source="a.html")

    bare = {"PATH": str(tmp_path)}
    assert "apt install chromium" in with_client(tmp_path, body, bare)
    broken = {"BROWSER_TOOLS_CHROMIUM": "/bin/echo"}
    assert "made no picture" in with_client(tmp_path, body, broken)
    missing = {"BROWSER_TOOLS_CHROMIUM": str(tmp_path / "no")}
    assert "cannot be started" in with_client(tmp_path, body, missing)


# --- with a browser


@needs_browser
def test_a_page_is_pictured_compared_with_its_mock_up_and_corrected(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(PAGE)
    wanted = [bytearray(b"\xff" * 3 * 60) for _ in range(50)]
    for row in wanted[:20]:
        row[: 3 * 48] = b"\x33\x66\x99" * 48
    (tmp_path / "design.png").write_bytes(png.encode(png.Picture(60, 50, tuple(map(bytes, wanted)))))

    async def body(client):
        mock = await call(client, "load_mock", path="design.png")
        assert (mock["width"], mock["height"], mock["file"]) == (60, 50, ".visual/mock.png")
        first = await call(client, "screenshot", source="page.html", width=60, height=50)
        assert first["source"] == page.as_uri()
        found = await call(client, "compare")
        assert (found["differing_pixels"], found["of_pixels"], found["same"]) == (8 * 20, 3000, False)
        assert found["areas"] == [{"x": 40, "y": 0, "width": 8, "height": 20}]
        assert (await call(client, "colour_at", x=10, y=10))["colour"] == "#336699"
        assert (await call(client, "colour_at", name="mock", x=45, y=1))["colour"] == "#336699"
        assert "outside of 'page'" in await call(client, "colour_at", x=60, y=0)
        page.write_text(PAGE.replace("40px", "48px"))
        await call(client, "screenshot", source="page.html", width=60, height=50)
        assert (await call(client, "compare"))["same"] is True
        return await call(client, "list_images")

    images = with_client(tmp_path, body)["images"]
    assert [(image["name"], image["size"]) for image in images] == [
        (name, [60, 50]) for name in ("difference", "mock", "page")
    ]
    assert (tmp_path / ".visual/.gitignore").read_text() == "*\n"


@needs_browser
def test_a_page_of_a_server_of_this_machine_is_pictured_and_cannot_reach_another_one(tmp_path):
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            body = b'<body style="margin:0;background:#0a0"><img src="http://pictures.invalid/x.png">'
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:

            async def body(client):
                url = f"http://127.0.0.1:{server.server_port}/page"
                taken = await call(client, "screenshot", source=url, width=80, height=60, name="web")
                assert taken["name"] == "web"
                return await call(client, "colour_at", name="web", x=79, y=59)

            assert with_client(tmp_path, body)["colour"] == "#00aa00"
        finally:
            server.shutdown()
            thread.join()
    assert "/page" in asked


# --- pictures


def raw_png(width: int, height: int, depth: int, colour: int, lines: bytes, palette: bytes = b"") -> bytes:
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))]
    chunks += [(b"PLTE", palette)] if palette else []
    chunks += [(b"IDAT", zlib.compress(lines)), (b"IEND", b"")]
    return png.SIGNATURE + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def filtered(rows: list[bytes], kinds: list[int], step: int) -> bytes:
    """Rows as an encoder writes them; the formulas are those of the specification."""
    found, above = bytearray(), bytes(len(rows[0]))
    for row, kind in zip(rows, kinds, strict=True):
        found.append(kind)
        for i, value in enumerate(row):
            a, b, c = row[i - step] if i >= step else 0, above[i], above[i - step] if i >= step else 0
            p = a + b - c
            paeth = min((a, b, c), key=lambda guess: abs(p - guess))
            found.append((value - (0, a, b, (a + b) // 2, paeth)[kind]) % 256)
        above = row
    return bytes(found)


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 7), st.integers(1, 5))
def test_every_filter_of_the_format_is_read(data, width, height):
    rows = [data.draw(st.binary(min_size=3 * width, max_size=3 * width)) for _ in range(height)]
    kinds = [data.draw(st.integers(0, 4)) for _ in range(height)]
    picture = png.decode(raw_png(width, height, 8, 2, filtered(rows, kinds, 3)))
    assert picture == png.Picture(width, height, tuple(rows))
    assert png.decode(png.encode(picture)) == picture


@pytest.mark.parametrize(
    ("colour", "line", "palette", "pixels"),
    [
        (0, b"\x00\x07\xff", b"", "070707ffffff"),
        (3, b"\x00\x01\x00", b"\x01\x02\x03\x04\x05\x06", "040506010203"),
        (4, b"\x00\x09\xff\x00\x00", b"", "090909ffffff"),
        (6, b"\x00\x01\x02\x03\xff\x00\x00\x00\x80", b"", "0102037f7f7f"),
    ],
)
def test_every_kind_of_colour_is_read_on_white(colour, line, palette, pixels):
    assert png.decode(raw_png(2, 1, 8, colour, line, palette)).rows[0].hex() == pixels


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"GIF89a", "no PNG"),
        (png.encode(solid(3, 3))[:-20], "cut off or damaged"),
        (png.encode(solid(3, 3)).replace(b"IDAT", b"IDAt"), "cut off or damaged"),
        (raw_png(1, 1, 16, 2, bytes(7)), "16 bits"),
        (raw_png(1, 1, 8, 2, b"\x05\0\0\0"), "unknown filter 5"),
        (raw_png(2, 2, 8, 2, bytes(7)), "cut off or damaged"),
        (raw_png(100_000, 1, 8, 2, b""), "100000 x 1 pixels"),
        (raw_png(1, 1, 8, 3, b"\x00\x09", b"\x01\x02\x03"), "not in the palette"),
        (raw_png(0, 1, 8, 2, b""), "0 x 1 pixels"),
    ],
)
def test_a_broken_picture_is_an_error_and_never_more_memory_than_its_size(data, problem):
    with pytest.raises(ValueError, match=problem):
        png.decode(data)


def test_areas_are_boxes_around_what_differs_and_another_size_differs_as_well():
    rows = [bytearray(b"\xff" * 3 * 100) for _ in range(100)]
    for x, y in ((5, 5), (9, 20), (80, 90)):
        rows[y][3 * x] = 100
    found = comparing.compare(png.Picture(100, 100, tuple(map(bytes, rows))), solid(100, 100), 8)
    assert (found.pixels, found.largest, found.areas) == (3, 155, ((5, 5, 5, 16), (80, 90, 1, 1)))
    assert found.drawn.pixel(5, 5) == comparing.MARKED
    assert comparing.compare(solid(4, 4, "080808"), solid(4, 4, "000000"), 8).pixels == 0
    assert comparing.compare(solid(4, 4, "090808"), solid(4, 4, "000000"), 8).pixels == 16
    wider = comparing.compare(solid(10, 4), solid(6, 5), 0)
    assert (wider.pixels, wider.total) == (4 * 4 + 10, 50)


def test_a_browser_that_hangs_is_started_once_more_and_then_given_up(tmp_path):
    browser = tmp_path / "browser"
    browser.write_text(
        f"#!/bin/sh\n[ -e {tmp_path}/again ] || {{ touch {tmp_path}/again; exec sleep 600; }}\n"
        'for given in "$@"; do case $given in --screenshot=*) echo x > "${given#--screenshot=}";; esac; done\n'
    )
    browser.chmod(0o755)
    code = (
        "import os, pathlib, _chromium; _chromium.WITHIN, here = 2.0, pathlib.Path.cwd()\n"
        "_chromium.capture('file:///x', here / 'page.png', 1, 1)\n"
        "(here / 'again').unlink(); _chromium.TRIES = 1\n"
        "_chromium.capture('file:///x', here / 'page.png', 1, 1)\n"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", code],
        env={**os.environ, "PYTHONPATH": str(SERVER), "BROWSER_TOOLS_CHROMIUM": str(browser)},
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=50,
        check=False,
    )
    assert done.stderr.splitlines()[-1].endswith("Chromium did not finish within 2 seconds, 1 times")
