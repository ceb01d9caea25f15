"""Whichever way a secret travels, and however many there are, it does not reach a file, and looking costs little."""

from __future__ import annotations

import base64
import itertools
import json
import os
import re
import textwrap
import time
import urllib.parse
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.journal import (
    REDACTED,
    Event,
    Journal,
    ModelChunked,
    Noted,
    Redactor,
    clean_records,
    read_journal,
)
from soundstage.messages import TextChunk, ThinkingChunk, ToolCallChunk
from support.cases import cases

fixed = cases(60)

SECRET = "aB3/x+Q7_w-9Zé=k"
LETTERS = st.text("abcXYZ019/+_-=.:é😀\"'&<", min_size=8, max_size=30).filter(
    lambda text: sum(letter.isalnum() for letter in text) >= 6
)


def u_escaped(letter: str, draw) -> str:
    units = letter.encode("utf-16-be").hex()
    return "".join(f"\\u{draw(st.sampled_from([part, part.upper()]))}" for part in textwrap.wrap(units, 4))


def percent_escaped(letter: str, draw) -> str:
    return "".join(f"%{byte:02{draw(st.sampled_from('xX'))}}" for byte in letter.encode())


@fixed
@given(data=st.data(), secret=LETTERS)
def test_any_letter_may_be_escaped_in_json_and_in_addresses(data, secret):
    for escaped in (u_escaped, percent_escaped):
        text = "".join(
            escaped(letter, data.draw)
            if data.draw(st.booleans())
            else letter.replace("/", data.draw(st.sampled_from(["/", "\\/"])))
            for letter in secret
        )
        assert Redactor([secret]).text(f"<{text}>") == f"<{REDACTED}>"


@fixed
@given(secret=LETTERS, width=st.integers(6, 76), before=st.binary(max_size=5))
def test_base64_may_be_wrapped_and_of_utf16(secret, width, before):
    for raw in (secret.encode(), secret.encode("utf-16-le"), secret.encode("utf-16-be")):
        for separator in ("\n", "\r\n", "\\n", "\n    "):
            coded = base64.b64encode(before + raw + b"and more").decode()
            wrapped = separator.join(coded[start : start + width] for start in range(0, len(coded), width))
            core = base64.b64encode(raw).decode()[4:-4]
            assert REDACTED in Redactor([secret]).text(wrapped)
            assert core not in Redactor([secret]).text(coded)


@pytest.mark.parametrize(
    "text",
    [
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
        SECRET.encode().hex(" "),
        urllib.parse.quote(urllib.parse.quote(SECRET, safe=""), safe=""),
        json.dumps(json.dumps(re.sub("%..", lambda code: code[0].lower(), urllib.parse.quote(SECRET)))),
        f"\x1b[31m{SECRET[:5]}\x1b[1;32m{SECRET[5:]}",
        f"{SECRET[:9]} │\n│ {SECRET[9:]}",
        f"{SECRET[:9]} |\n| {SECRET[9:]}",
        "".join(f"&#{ord(letter)};" for letter in SECRET),
        "".join(f"\\x{byte:02x}" for byte in SECRET.encode()),
    ],
)
def test_it_is_found_as(text):
    clean = Redactor([SECRET]).text(f"before {text} after")
    assert clean.startswith("before ")
    assert clean.endswith(" after")
    assert REDACTED in clean
    assert SECRET[-6:] not in clean
    assert SECRET.encode().hex()[:12] not in clean.lower()


@fixed
@given(
    cuts=st.lists(st.integers(1, len(SECRET) + 20), max_size=12),
    around=st.sampled_from(["", "and ", "key: "]),
)
@pytest.mark.parametrize("kind", [TextChunk, ThinkingChunk, ToolCallChunk])
def test_of_a_secret_that_is_streamed_in_pieces_five_letters_stay_at_most(
    tmp_path_factory, kind, cuts, around
):
    text = f"{around}{SECRET}{around} rest"
    name = "arguments" if kind is ToolCallChunk else "text"
    path = tmp_path_factory.mktemp("pieces") / "journal.jsonl"
    journal = Journal(path, redactor=Redactor([SECRET]))
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    for start, end in itertools.pairwise(places):
        journal.append(ModelChunked(chunk=kind(index=0, **{name: text[start:end]})), source="m", cause=1)
        journal.append(ModelChunked(chunk=kind(index=1, **{name: "between"})), source="m", cause=1)
    journal.close()
    for records in (read_journal(path), clean_records(journal.read(), Redactor([SECRET]))):
        chunks = [record.event.chunk for record in records]
        kept = "".join(getattr(chunk, name) for chunk in chunks if chunk.index == 0)
        assert SECRET[:6] not in kept
        assert SECRET[6:10] not in kept
        assert kept.startswith(around)
        assert kept.endswith(" rest")
        assert all(getattr(chunk, name) == "between" for chunk in chunks if chunk.index == 1)


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("DATABASE_URL", "postgres://app:s3cret@db.example:5432/app", "app:s3cret@"),
        ("DATABASE_URL", "postgres://app:correct-horse-9@db/app", "correct-horse-9"),
        ("ANY_ADDRESS", "redis://:correct-horse-9@cache:6379", "correct-horse-9"),
        ("DATABASE_URL", "correct-horse-9", "correct-horse-9"),
        ("MYSQL_PWD", "correct-horse-9", "correct-horse-9"),
        ("SSH_PASSPHRASE", "correct-horse-9", "correct-horse-9"),
        ("SENTRY_DSN", "https://0123456789abcdef@o1.ingest.example/2", "0123456789abcdef"),
    ],
)
def test_variables_with_logins_are_known(name, value, secret):
    assert secret not in Redactor.from_environment({name: value}).text(f"it is {secret}!")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PWD", "/home/someone"),
        ("OLDPWD", "/home/someone"),
        ("DATABASE_URL", "sqlite:///some/where.db"),
        ("XAUTHORITY", "/home/someone"),
        ("SSH_AUTH_SOCK", "/tmp/agent.socket"),
        ("PROXY", "http://proxy.example:3128"),
    ],
)
def test_places_are_no_secrets(name, value):
    assert Redactor.from_environment({name: value}).text(value) == value


def test_a_variable_that_is_set_later_is_known(monkeypatch, tmp_path):
    journal = Journal(tmp_path / "journal.jsonl")
    monkeypatch.setenv("LATE_TOKEN", "correct-horse-9")
    journal.append(Noted(text="<correct-horse-9>"))
    monkeypatch.setenv("LATE_TOKEN", "other-horse-10")
    journal.append(Noted(text="<other-horse-10> <correct-horse-9>"))
    journal.close()
    texts = [record.event.text for record in read_journal(tmp_path / "journal.jsonl")]
    assert texts == [f"<{REDACTED}>", f"<{REDACTED}> <{REDACTED}>"]
    assert os.environ["LATE_TOKEN"]


@pytest.mark.parametrize(
    "name",
    [
        "x-access-token",
        "Ocp-Apim-Subscription-Key",
        "x-amz-security-token",
        "cf-access-client-secret",
        "x-auth",
        "x-vault-token",
        "private-key",
    ],
)
def test_a_header_whose_name_says_so_is_secret(name):
    redactor = Redactor()
    assert redactor.headers({name: SECRET}) == {name.lower(): REDACTED}
    assert redactor.text(SECRET) == REDACTED


@pytest.mark.parametrize(
    "name", ["idempotency-key", "sec-websocket-key", "anthropic-ratelimit-tokens", "x-author"]
)
def test_a_header_that_only_sounds_like_it_stays(name):
    assert Redactor().headers({name: SECRET}) == {name: SECRET}


def test_what_anybody_may_teach_costs_little_and_is_bounded():
    redactor = Redactor(["told-by-the-test"])
    begun = time.process_time()
    redactor.headers({"x-api-key": "\\\u2039&" * 60_000})
    for number in range(3000):
        redactor.headers({"x-api-key": f"key-number-{number:06}"})
    spent = time.process_time() - begun
    assert spent < 30, f"{spent:.1f} s of processor time; a hundredth of that is usual for one key"
    assert redactor.text("key-number-002999 key-number-002100") == f"{REDACTED} {REDACTED}"
    assert redactor.text("key-number-000001") == "key-number-000001"  # long ago, and one of too many
    assert redactor.text("told-by-the-test") == REDACTED


def test_of_a_long_secret_every_part_is_known():
    secret = base64.b64encode(bytes(range(256)) * 16).decode()
    line = json.dumps({"text": f"<{secret}>"}).encode()
    clean = json.loads(Redactor([secret]).json(line))["text"]
    assert clean.replace(REDACTED, "") == "<>"


class Piece(Event, frozen=True, kw_only=True):
    """A piece of what an app's own stream says; a field tells one stream from another."""

    routine: ClassVar[bool] = True

    text: str = ""
    stream: str = ""


class Tick(Event, frozen=True, kw_only=True):
    """A routine event without a text."""

    routine: ClassVar[bool] = True

    text: int = 0


@pytest.mark.parametrize("cut", range(1, len(SECRET)))
def test_streams_of_an_apps_own_events_are_looked_at_piece_with_piece(tmp_path, cut):
    path = tmp_path / "journal.jsonl"
    journal = Journal(path, redactor=Redactor([SECRET]))
    for text, stream, source in (
        (f"so {SECRET[:cut]}", "a", "app"),
        ("between", "b", "app"),
        (SECRET[cut:], "c", "app"),
        (f"{SECRET[cut:]} rest", "a", "app"),
    ):
        journal.append(Piece(text=text, stream=stream), source=source)
        journal.append(Tick(text=1))
    journal.close()
    for records in (read_journal(path), list(clean_records(journal.read(), Redactor([SECRET])))):
        events = [record.event for record in records]
        kept = "".join(event.text for event in events if isinstance(event, Piece) and event.stream == "a")
        assert SECRET[:6] not in kept
        assert SECRET[-6:] not in kept
        assert kept.startswith("so ")
        assert kept.endswith(" rest")
        assert [event.text for event in events if isinstance(event, Piece)][1:3] == ["between", SECRET[cut:]]
        assert sum(isinstance(event, Tick) for event in events) == 4
        assert [record.source for record in records] == ["app", ""] * 4
