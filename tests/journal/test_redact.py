"""Secrets never reach a file."""

from __future__ import annotations

import base64
import html
import json
import threading
import urllib.parse

import markupsafe
import msgspec
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from jinja2.utils import htmlsafe_json_dumps

from soundstage.errors import HarnessError
from soundstage.journal import (
    REDACTED,
    Journal,
    ModelResponded,
    Noted,
    Redactor,
    ToolCalled,
    event_types,
    read_journal,
)
from soundstage.journal._redact import MOST
from soundstage.journal._secrets import SHAPES, is_secret
from soundstage.messages import ModelResponse, Text, ToolCall
from support.cases import cases

fixed = cases(100)  # the same examples in every run

CANARY = "c4nary-7f3a91d2"


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("ANTHROPIC_API_KEY", True),
        ("APIKEY", True),
        ("MY_KEY", True),
        ("key", True),
        ("GITHUB_TOKEN", True),
        ("CLIENT_SECRET_2", True),
        ("PGPASSWORD", True),
        ("DB_PASSWD", True),
        ("AWS_CREDENTIALS", True),
        ("HOME", False),
        ("KEYBOARD", False),
        ("MONKEY_BARS", False),
    ],
)
def test_the_name_of_a_variable_says_whether_its_value_is_secret(name, secret):
    clean = Redactor.from_environment({name: CANARY}).text(f"it is {CANARY}.")
    assert clean == ("it is [redacted]." if secret else f"it is {CANARY}.")


@pytest.mark.parametrize(
    "value", ["", "short", "       x       ", "position", "assistant", "tool_calls", "redacted"]
)
def test_words_are_not_secrets(value):
    text = f'"{value}" is a word'
    redactor = Redactor([value])
    redactor.add(value)
    assert redactor.text(text) == text


def test_words_of_the_journal_are_all_recognised():
    for name, cls in event_types().items():
        if cls.__module__.startswith("soundstage."):
            for word in (name, *cls.__struct_fields__):
                assert Redactor([word]).text(f"<{word}>") == f"<{word}>"


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("Authorization", f"Bearer {CANARY}", CANARY),
        ("authorization", CANARY, CANARY),
        ("Proxy-Authorization", f"Basic {CANARY}", CANARY),
        ("x-api-key", f"{CANARY} with a space", f"{CANARY} with a space"),
        ("X-Goog-Api-Key", CANARY, CANARY),
        ("api-key", CANARY, CANARY),
        ("x-soundstage-token", CANARY, CANARY),
        ("Cookie", f"theme=dark; session={CANARY}0123; lang=en", f"{CANARY}0123"),
        ("Set-Cookie", f"session={CANARY}0123; Path=/a-long-enough-path", f"{CANARY}0123"),
    ],
)
def test_headers_for_secrets_are_blanked_and_their_secrets_learnt(name, value, secret):
    redactor = Redactor()
    assert redactor.headers({name: value, "Accept": "text/html"}) == {
        name.lower(): REDACTED,
        "accept": "text/html",
    }
    assert redactor.text(f"a {secret} b") == "a [redacted] b"


def test_settings_in_cookies_and_attributes_of_cookies_are_no_secrets():
    redactor = Redactor()
    redactor.headers({"cookie": "theme=solarized", "set-cookie": "a=b; Path=/some/where/below/here"})
    text = "solarized /some/where/below/here"
    assert redactor.text(text) == text


KEYS = [
    "sk-ant-api03-abcDEF123_-xyz",
    "AIzaSyA" + "x" * 32,
    "gsk_" + "aZ1" * 8,
    "xai-" + "aZ1" * 8,
    "hf_" + "aZ1" * 8,
    "ghp_" + "aZ1" * 8,
    "gho_" + "aZ1" * 8,
    "ghu_" + "aZ1" * 8,
    "ghs_" + "aZ1" * 8,
    "ghr_" + "aZ1" * 8,
    "github_pat_" + "aZ1" * 8,
    "xoxb-123456789012",
    "AKIAIOSFODNN7EXAMPLE",
    "nsec1" + "q" * 58,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmN",
]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("text", ["%s", "the key:\n%s\nis mine", 'x="%s"', "k=%s&y", "\t%s", "%%3D%s"])
def test_keys_of_known_shape_are_found_wherever_they_begin(key, text):
    line = msgspec.json.encode(Noted(text=text % key))
    assert msgspec.json.decode(Redactor().json(line), type=Noted).text == text % REDACTED


def test_there_is_an_example_of_every_shape():
    text = " ".join([*KEYS, "Bearer abcdef123", PEM])
    for shape in SHAPES:
        assert shape.marker in text.encode()


@pytest.mark.parametrize(
    "text",
    [
        "task-management-and-scheduling-board",
        "Bearer authentication is simple",
        "the bearer of-this-letter",
        "sk-short",
        "AKIA",
        "eyJ.eyJ",
        "high through night",
    ],
)
def test_ordinary_words_are_left_alone(text):
    assert Redactor().text(text) == text


def test_what_follows_bearer_is_a_secret_if_it_looks_like_one():
    assert (
        Redactor().text("Authorization: Bearer abc.def-123==, ok") == "Authorization: Bearer [redacted], ok"
    )
    assert Redactor().text("bearer " + "abcdefgh" * 3) == "bearer [redacted]"


PEM = """-----BEGIN RSA PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED

MIIEpAIBAAKCAQEA75g/+abc=
-----END RSA PRIVATE KEY-----"""


@pytest.mark.parametrize("escapes", [0, 1, 2, 3])
def test_private_keys_are_found_whole_or_cut_off(escapes):
    for key in (PEM, PEM[:70]):
        text = f'{{"key": "{key}", "other": "kept"}}'
        for _ in range(escapes):
            text = json.dumps(text)
        clean = Redactor().text(text)
        assert "MIIE" not in clean
        assert "Proc" not in clean
        assert "kept" in clean
        for _ in range(escapes):
            clean = json.loads(clean)


def test_two_halves_of_a_private_key_do_not_swallow_what_is_between():
    line = msgspec.json.encode(
        {"a": "-----BEGIN PRIVATE KEY-----", "b": "kept", "c": "-----END PRIVATE KEY-----"}
    )
    assert json.loads(Redactor().json(line))["b"] == "kept"


SECRETS = st.one_of(
    st.text(min_size=8, max_size=24),
    st.text("\"\\/\n\tntu0 é😀+=%&<>'", min_size=8, max_size=16),
    st.text("ab01_-.+/", min_size=8, max_size=40),
).map(str.strip)


def carriers(secret):
    """The secret, in the ways in which it travels."""
    raw = secret.encode("utf-8", "surrogatepass")
    yield secret
    once = json.dumps(secret)
    yield once
    yield json.dumps(once)
    yield json.dumps(json.dumps(once, ensure_ascii=False), ensure_ascii=False)
    yield urllib.parse.quote(raw)
    yield urllib.parse.quote(raw, safe="")
    yield urllib.parse.urlencode({"key": raw})
    yield html.escape(secret)
    yield html.escape(secret, quote=False)
    yield str(markupsafe.escape(secret))
    yield str(htmlsafe_json_dumps(secret))
    yield once.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    for before in (b"", b"a", b"ab", b"user:"):
        yield base64.b64encode(before + raw).decode()
        yield base64.b64encode(before + raw + b"and more").decode()
        yield base64.urlsafe_b64encode(before + raw + b"?").decode()


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from strings(key)
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


@cases(60)
@given(secret=SECRETS, around=st.text(max_size=5))
@example(secret='quo"te\\d and \\n', around="\n")
@example(secret="ntoken12345", around="x\n")
@example(secret="0001abcdefg", around="\x00")
@example(secret="hunter2\\\\\\", around='"')
@example(secret="pässwörd😀", around="")
@example(secret="12345678", around="")
@example(secret='<i\'d>&"you"', around="")
def test_a_planted_canary_never_reaches_the_file(tmp_path_factory, secret, around):
    assume(is_secret(secret))
    path = tmp_path_factory.mktemp("journal") / "journal.jsonl"
    journal = Journal(path, redactor=Redactor([secret]))
    for number, text in enumerate(carriers(secret)):
        journal.append(
            Noted(text=f"{around}{text}{around}", data={text: [text, 1.5, None]}), source=f"s{number}"
        )
        journal.append(ToolCalled(call_id="1", name="f", arguments={"command": text}))
        call = ToolCall(id="2", name="g", arguments={"x": secret}, raw=text)
        journal.append(ModelResponded(response=ModelResponse(parts=(Text(text=text), call))))
    journal.close()

    data = path.read_bytes()
    found = [text for line in data.splitlines() for text in strings(json.loads(line))]
    for text in carriers(secret):
        core = text.strip("=")[4:-3] if len(text) > 24 else text.strip("=")
        assert not any(core in word for word in found if len(core) > 7), core
    if json.dumps(secret, ensure_ascii=False)[1:-1] == secret:
        assert secret.encode() not in data
    assert len(read_journal(path)) == len(journal)


def test_a_secret_that_begins_with_the_letter_of_an_escape_does_not_break_the_line(tmp_path):
    secrets = [
        "ntoken12345",
        "u0000abcdefg",
        "001abcdefg",
        '"quoted-it',
        "endslash\\",
        "\\nbegin-it",
        "tab\there12",
    ]
    texts = [
        "\ntoken12345",
        "\x00abcdefg",
        "\x001abcdefg",
        'a"quoted-it',
        'endslash"',
        "\nbegin-it",
        "tab\there12",
    ]
    journal = Journal(tmp_path / "journal.jsonl", redactor=Redactor(secrets))
    for text in texts:
        journal.append(Noted(text=f"<{text}>"))
    journal.close()
    for secret in secrets:
        assert secret.encode() not in (tmp_path / "journal.jsonl").read_bytes()
    cleaned = [record.event.text for record in read_journal(tmp_path / "journal.jsonl")]
    assert all(text.startswith("<") and REDACTED in text for text in cleaned)


def test_a_number_that_is_a_secret_becomes_zero():
    line = msgspec.json.encode({"pin": 87654321, "ratio": 0.87654321, "text": "87654321", "count": 5})
    assert json.loads(Redactor(["87654321"]).json(line)) == {
        "pin": 0,
        "ratio": 0,
        "text": REDACTED,
        "count": 5,
    }


def test_a_secret_that_looks_like_json_leaves_the_structure_alone():
    line = msgspec.json.encode({"a": "x", "text": "y"})
    clean = Redactor(['x","text"']).json(line)
    assert list(json.loads(clean)) == ["a", "text"]


def test_overlapping_secrets_leave_nothing_of_either():
    redactor = Redactor(["abcdefghij", "ghijklmnop"])
    assert redactor.text("<abcdefghijklmnop>") == "<[redacted]>"
    assert redactor.text("<abcdefghijabcdefghij>") == "<[redacted][redacted]>"
    assert Redactor(["abcdefghijklmnop", "cdefghij"]).text("<abcdefghijklmnop>") == "<[redacted]>"
    assert redactor.bytes(b"aaaaaaaaaaaaabcdefghij") == b"aaaaaaaaaaaa[redacted]"
    assert Redactor(["aaaaaaaa"]).text("<aaaaaaaaaaaa>") == "<[redacted]>"


def test_text_without_a_secret_is_not_touched():
    redactor = Redactor([CANARY])
    data = b'{"text": "nothing here, not even a canary"}'
    assert redactor.json(data) is data
    assert redactor.bytes(data) is data
    near = b'{"text": "c4nary is not enough"}'
    assert redactor.suspects(near)
    assert redactor.json(near) is near


def test_a_line_that_only_looks_suspicious_is_written_as_it_is(tmp_path):
    journal = Journal(tmp_path / "journal.jsonl", redactor=Redactor([CANARY]))
    journal.append(Noted(text="c4nary is not enough"))
    journal.close()
    assert read_journal(tmp_path / "journal.jsonl")[0].event.text == "c4nary is not enough"


def test_a_secret_in_the_environment_that_is_no_text_is_found_too(tmp_path):
    secret = b"caf\xe9-hunter2".decode("utf-8", "surrogateescape")
    journal = Journal(tmp_path / "journal.jsonl", redactor=Redactor([secret]))
    journal.append(Noted(text=f"<{secret.encode('utf-8', 'replace').decode()}>"))
    journal.close()
    assert read_journal(tmp_path / "journal.jsonl")[0].event.text == "<[redacted]>"
    assert Redactor([secret]).text(f"<{secret}>") == "<[redacted]>"


def test_a_secret_that_is_learnt_later_is_redacted_from_then_on(tmp_path):
    journal = Journal(tmp_path / "journal.jsonl")
    journal.append(Noted(text=CANARY))
    journal.redactor.add(CANARY)
    journal.append(Noted(text=CANARY))
    journal.close()
    assert [record.event.text for record in read_journal(tmp_path / "journal.jsonl")] == [CANARY, REDACTED]
    assert journal.read()[1].event.text == CANARY


def test_a_line_that_redaction_would_make_unreadable_is_not_written(tmp_path):
    journal = Journal(tmp_path / "journal.jsonl", redactor=Redactor(["agent-7-"]))
    journal.redactor.json = lambda line: line.replace(b'"text"', b'"[redacted]"')
    with pytest.raises(HarnessError, match="not a record"):
        journal.append(Noted(text="agent-7-x"))
    assert len(journal) == 0
    journal.close()
    assert (tmp_path / "journal.jsonl").read_bytes() == b""


def test_many_secrets_are_all_found():
    secrets = [f"secret-number-{number:04}" for number in range(500)]
    text = Redactor(secrets).text(" ".join(secrets))
    assert text == " ".join([REDACTED] * 500)


def test_a_secret_that_is_met_again_or_told_later_is_not_forgotten_with_those_met_long_ago():
    redactor = Redactor()
    again, told, once = "again-secret-0001", "told-secret-00001", "once-secret-00001"
    for secret in (again, told, once):
        redactor.meet(secret)
    redactor.add(told)
    redactor.meet(again)
    for number in range(MOST - 2):
        redactor.meet(f"other-secret-{number:05}")
    redactor.meet("the-last-secret-of-all")
    for number in range(40):  # all that is new has been taken into the big search
        redactor.add(f"told-at-the-end-{number:05}")
    assert redactor.text(f"{told} {again} {once}") == f"{REDACTED} {REDACTED} {once}"
    assert redactor.text("the-last-secret-of-all") == REDACTED


def test_secrets_may_be_learnt_in_several_threads_at_once():
    redactor = Redactor()
    secrets = [f"{letter}-secret-number-{number}" for letter in "abcd" for number in range(25)]
    threads = [
        threading.Thread(target=lambda part=secrets[n::4]: [redactor.add(secret) for secret in part])
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert redactor.text(" ".join(secrets)) == " ".join([REDACTED] * 100)


@pytest.mark.parametrize(
    "text",
    [
        "x" * 500_000,
        "-eyJ" * 125_000,
        "eyJaaaaaaaaaaaa." * 25_000,
        "-----BEGIN PRIVATE KEY-----" * 12_500,
        "Bearer " * 50_000,
        "Bearer " + "a" * 500_000,
        "sk-" * 125_000,
        "\\" * 500_000,
        f"{CANARY}\n" * 12_500,
    ],
    ids=lambda text: text[:20].strip(),
)
def test_very_long_lines_are_cleaned_in_one_go(text):
    line = msgspec.json.encode(Noted(text=text))
    clean = Redactor([CANARY]).json(line)
    assert CANARY.encode() not in clean
    msgspec.json.decode(clean)
