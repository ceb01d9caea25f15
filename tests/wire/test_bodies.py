"""Compressed requests: codex, Java and proxies send them, and no provider takes one for broken JSON."""

from __future__ import annotations

import functools
import gzip
import json
import resource
import tracemalloc
import zlib

import pytest
import zstandard

from soundstage.errors import RequestRejected
from soundstage.journal import ModelRequested, RequestRefused
from soundstage.models import Script
from soundstage.net import HttpRequest
from soundstage.wire._bodies import accepted, readers, unpacked
from support.wires import WIRES, error_of, run, serving

packed = functools.partial(gzip.compress, mtime=0)
zstd = zstandard.ZstdCompressor().compress
TEXT = b"a body of some length, a body of some length"


_wide = zstandard.ZstdCompressor(
    compression_params=zstandard.ZstdCompressionParameters(window_log=27)
).compressobj()
WIDE = _wide.compress(TEXT) + _wide.flush()  # a frame for which a decoder has to hold 128 million bytes


def request(coding, body):
    return HttpRequest("POST", "/", "", {"content-encoding": coding} if coding else {}, body)


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("", TEXT),
        ("identity", TEXT),
        ("gzip", packed(TEXT)),
        ("GZIP", packed(TEXT)),
        ("x-gzip", packed(TEXT[:9]) + packed(TEXT[9:])),
        ("deflate", zlib.compress(TEXT)),
        ("zstd", zstd(TEXT)),
        ("zstd", zstandard.ZstdCompressor(write_content_size=False).compress(TEXT)),
        ("zstd", zstd(TEXT[:9]) + zstd(TEXT[9:])),
        ("zstd, gzip", packed(zstd(TEXT))),
        ("deflate, gzip", packed(zlib.compress(TEXT))),
        ("gzip", b""),
    ],
)
def test_a_body_is_read_as_its_coding_says(coding, body):
    found = unpacked(request(coding, body), 1000)
    assert (found.body, found.too_large) == (TEXT if body else b"", False)


@pytest.mark.parametrize(
    ("coding", "body", "status"),
    [
        ("zstd", zstd(TEXT)[:-9], 400),
        ("zstd", TEXT, 400),
        ("zstd", zstd(TEXT) + b"x", 400),
        ("zstd", WIDE, 400),
        ("br", b"x", 415),
        ("gzip, br", b"x", 415),
        (", ".join(["gzip"] * 5), packed(TEXT), 415),
        ("gzip", TEXT, 400),
        ("gzip", packed(TEXT)[:-9], 400),
        ("deflate", packed(TEXT), 400),
    ],
)
def test_another_coding_is_refused_by_name(coding, body, status):
    with pytest.raises(RequestRejected) as caught:
        unpacked(request(coding, body), 1000)
    assert caught.value.status == status
    assert f"'{coding.rpartition(', ')[2]}'" in caught.value.message


def test_what_is_not_installed_is_refused_with_the_extra_that_reads_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    readers.cache_clear()
    try:
        with pytest.raises(RequestRejected, match=r"soundstage\[zstd\]") as caught:
            unpacked(request("zstd", zstd(TEXT)), 1000)
        assert (caught.value.status, accepted()) == (415, "gzip, deflate")
    finally:
        readers.cache_clear()


def test_a_bomb_of_zstd_is_too_large_and_costs_no_more():
    bomb = zstd(bytes(500_000_000))
    assert len(bomb) < 100_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = unpacked(request("zstd", bomb), 10_000)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert (found.too_large, len(found.body)) == (True, 10_000)
    assert after - before < 30_000, "kilobytes"


@pytest.mark.parametrize("layers", [1, 2, 4])
def test_a_body_that_unpacks_to_more_than_the_limit_is_too_large_and_costs_no_more(layers):
    body = bytes(50_000_000)
    for _ in range(layers):
        body = packed(body, 1)
    tracemalloc.start()
    found = unpacked(request(", ".join(["gzip"] * layers), body), 10_000)
    spent = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert spent < 1_000_000
    assert (found.too_large or layers > 1, len(found.body) <= 10_000) == (True, True)


@pytest.mark.parametrize("name", WIRES)
def test_a_compressed_request_is_answered_and_an_odd_one_refused_in_the_providers_shape(name):
    wire = WIRES[name]
    script = Script()
    script.on(user="hello").reply("hi")
    body = json.dumps(wire.body("hello", "")).encode()

    async def main():
        async with serving(script) as served:
            answer = await served.ask(wire, content=packed(body), headers={"content-encoding": "gzip"})
            assert wire.text(answer.json()) == "hi"
            refused = await served.ask(wire, content=body, headers={"content-encoding": "br"})
            assert refused.status_code == 415
            assert refused.headers["accept-encoding"] == "gzip, deflate, zstd"
            assert "'br'" in error_of(wire, refused)[1]
            [kept] = served.events(RequestRefused)
            assert (kept.status, len(served.events(ModelRequested))) == (415, 1)

    run(main())
