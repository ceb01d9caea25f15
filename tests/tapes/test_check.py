"""`soundstage tape check`: one finding for each thing that is wrong with a tape, and none for a good one."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from soundstage.errors import TapeError
from soundstage.journal import Redactor
from soundstage.messages import Caller, ModelRequest, ModelResponse, Text, TextChunk, user
from soundstage.tapes import (
    Mask,
    McpTapeLine,
    RecordedExchange,
    Surroundings,
    Tape,
    TapeHead,
    TimedChunk,
)
from soundstage.tapes._check import Players, TapeLimits, check_tapes
from soundstage.tapes._frames import digest, pack
from soundstage.tapes._tape_commands import app

NOW = datetime(2026, 6, 1, tzinfo=UTC)
HEAD = TapeHead(recorded="2026-03-01T10:00:00+00:00")
EDITED = "a place for a key"
ANY = TapeLimits()
SECRET = "hunter-two-and-more"


def exchange(number=1, asked="hello", *, reply="hi", model="gpt-4.1", **fields):
    request = ModelRequest(model=model, messages=(user(asked),), format="openai-chat")
    return RecordedExchange(
        number=number, **{"request": request, "response": ModelResponse(parts=(Text(text=reply),))} | fields
    )


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """Writes a tape: `saved("a.tape", exchange())`; its path."""
    monkeypatch.chdir(tmp_path)

    def save(name, *exchanges, head=HEAD, mcp=()):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Tape(exchanges, head=head, redactor=Redactor(), mcp_lines=mcp).save(path)
        path.write_text(path.read_text().replace(EDITED, "sk-" + "a1" * 20))
        return path

    return save


def check(*paths, limits=ANY, players=None, secrets=(SECRET,)):
    return check_tapes(paths, limits, players, Redactor(secrets), NOW)


def kinds(*paths, **options):
    return [(finding.tape, finding.kind) for finding in check(*paths, **options)]


def command(*arguments):
    return CliRunner().invoke(app, ["check", *map(str, arguments)])


def test_good_tapes_have_no_finding(saved):
    paths = [saved("a.tape", exchange(), exchange(2, "more")), saved("b.tape", exchange(asked="other"))]
    strict = TapeLimits(size=10_000, days=92, models=("gpt-4.1*",))
    assert check(*paths, limits=strict) == []


def test_a_tape_that_is_too_large_is_named_with_its_largest_exchange(saved):
    path = saved("a.tape", exchange(), exchange(2, "x" * 3000), exchange(3, "x" * 3000 + "y" * 500))
    size = path.stat().st_size
    assert check(path, limits=TapeLimits(size=size)) == []
    (found,) = check(path, limits=TapeLimits(size=size - 1))
    assert str(found).startswith(f"a.tape: oversized: {size / 1000:.3g} KB, and ")
    assert "; the largest is exchange 3 with 3.7" in found.about
    assert found.next == "let the test send and ask for less, or raise --max-size"


@pytest.mark.parametrize(("days", "kind"), [(92, []), (91, [("a.tape", "too old")])])
def test_a_tape_is_too_old_from_the_day_after_its_last(saved, days, kind):
    assert kinds(saved("a.tape", exchange()), limits=TapeLimits(days=days)) == kind


def test_the_age_is_that_of_the_first_exchange_where_the_head_has_none(saved):
    imported = saved("a.tape", exchange(timestamp="2026-05-31T10:00:00Z"), head=TapeHead())
    assert check(imported, limits=TapeLimits(days=1)) == []
    assert kinds(imported, limits=TapeLimits(days=-1)) == [("a.tape", "too old")]
    (found,) = check(saved("b.tape", exchange(), head=TapeHead()), limits=TapeLimits(days=9999))
    assert found.about == "nothing on it says when it was recorded"


def test_models_that_are_not_allowed_are_named_with_their_exchanges(saved):
    path = saved(
        "a.tape",
        exchange(1, "a"),
        exchange(2, "b", model="gpt-4o"),
        exchange(3, "c", model="gpt-4o"),
        exchange(4, "d", model="claude-x"),
        exchange(5, request=None),
    )
    found = [one.about for one in check(path, limits=TapeLimits(models=("gpt-4.1", "claude-*")))]
    assert found == ["exchanges 2, 3 asked 'gpt-4o', and allowed is gpt-4.1, claude-*"]


def test_two_tapes_with_the_same_exchanges_are_told_on_the_second(saved):
    first = saved("a.tape", exchange(), exchange(2, "more"))
    copy = saved("b.tape", exchange(timestamp="2026-05-05T00:00:00Z", latency_ms=9), exchange(2, "more"))
    others = [
        saved("shorter.tape", exchange()),
        saved("reply.tape", exchange(reply="ho"), exchange(2, "more")),
        saved("prompt.tape", exchange(asked="hallo"), exchange(2, "more")),
        saved("turned.tape", exchange(asked="more"), exchange(2)),
        saved("agent.tape", _of_agent(exchange()), exchange(2, "more")),
        saved("empty.tape"),
        saved("nothing.tape"),
    ]
    found = check(first, copy, *others)
    assert [(one.tape, one.kind, one.about) for one in found] == [
        ("b.tape", "duplicated", "all requests and replies are those of a.tape")
    ]


def _of_agent(one):
    return msgspec.structs.replace(
        one, request=msgspec.structs.replace(one.request, caller=Caller(agent="critic"))
    )


def served(result, **fields):
    return McpTapeLine(server="notes", method="tools/call", params={"name": "add"}, result=result, **fields)


def test_lines_of_mcp_servers_are_looked_at_as_well(saved):
    first = saved("a.tape", mcp=[served({"text": "one"})])
    copy = saved("b.tape", mcp=[served({"text": "one"}, timestamp="2026-05-05T00:00:00Z")])
    saved("c.tape", mcp=[served({"text": "two"})])
    assert kinds(first, copy, first.with_name("c.tape")) == [("b.tape", "duplicated")]
    large = saved("d.tape", exchange(), mcp=[served({"text": "x" * 3000}), served({"text": SECRET})])
    assert [
        one.about.partition("; ")[2] or one.about for one in check(large, limits=TapeLimits(size=3000))
    ] == [
        "the largest is MCP line 1 with 3.1 KB",
        "a secret is in MCP line 2, result",
    ]


def test_folders_and_masks_do_not_tell_copies_apart(saved):
    def head(folder):
        return TapeHead(places=Surroundings(cwd=folder), masks=(Mask(pattern="order-[0-9]+"),))

    first = saved("a.tape", exchange(asked="read /home/ann/x of order-1"), head=head("/home/ann"))
    assert kinds(first, saved("b.tape", exchange(asked="read /srv/x of order-2"), head=head("/srv"))) == [
        ("b.tape", "duplicated")
    ]
    assert check(first, saved("c.tape", exchange(asked="read /srv/y of order-2"), head=head("/srv"))) == []


def _framed(body, response="hi", **fields):
    """An exchange over HTTP whose answer has these bytes; the readable response is what it is said to be."""
    reply = ModelResponse(parts=(Text(text=response),))
    frames = pack(200, fields.pop("headers", {"content-type": "application/json"}), [(1.0, body)])
    return exchange(response=reply, frames=msgspec.structs.replace(frames, of=digest(reply)), **fields)


def _answer(*texts):
    """A streamed answer in these pieces."""
    events = [{"choices": [{"index": 0, "delta": {"content": text}}]} for text in texts]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    return (
        b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n"
    )


STREAM = {"content-type": "text/event-stream"}


@pytest.mark.parametrize(
    ("bad", "where"),
    [
        (exchange(asked=f"my key is {SECRET}"), ["exchange 1, request"]),
        (exchange(reply=f"it is {SECRET}"), ["exchange 1, response"]),
        (exchange(asked=f"hello {EDITED}"), ["exchange 1, request"]),
        (_framed(b'{"error": "' + SECRET.encode() + b'"}'), ["exchange 1, frames"]),
        (_framed(_answer("it is hunter-", "two-and-more"), headers=STREAM), ["exchange 1, frames"]),
        (_framed(b"{}", headers={"x-api-key": "key-9"}), ["exchange 1, frames"]),
        (
            exchange(
                chunks=(
                    TimedChunk(chunk=TextChunk(index=0, text="hunter-")),
                    TimedChunk(chunk=TextChunk(index=0, text="two-and-more")),
                )
            ),
            ["exchange 1, chunks"],
        ),
    ],
    ids=["request", "response", "shape", "frames", "in two pieces", "header", "chunks"],
)
def test_a_secret_that_somebody_has_put_on_a_tape_is_found_by_its_place(saved, bad, where):
    found = check(saved("a.tape", bad))
    assert [one.about for one in found] == [f"a secret is in {place}" for place in where]
    assert SECRET not in str(found)
    assert "soundstage record --tape a.tape --mode all -- COMMAND" in found[0].next


def test_answers_without_a_secret_are_not_suspected(saved):
    good = [_framed(_answer("it is hunter-", "three"), headers=STREAM), exchange(2, "[redacted]")]
    assert check(saved("a.tape", *good)) == []


def test_a_secret_in_the_head_and_one_on_a_tape_that_cannot_be_read_are_found(saved):
    head = TapeHead(masks=(Mask(pattern=SECRET),))
    assert [one.about for one in check(saved("a.tape", exchange(), head=head))] == [
        "a secret is in the head, masks"
    ]
    path = saved("b.tape", exchange())
    path.write_text(path.read_text() + f'{{"line": "exchange", "hello": "{SECRET}"}}\n{{"{SECRET}\n')
    path.write_text(path.read_text() + f'{{"line": "exchange", "{SECRET}": 1}}\n')
    found = check(path)
    assert [one.kind for one in found] == ["unreadable", "secret", "secret", "secret"]
    assert [one.about for one in found[1:]] == [
        "a secret is in exchange 2, hello",
        "a secret is in line 4",
        "a secret is in exchange 3",
    ]


def test_a_tape_that_cannot_be_read_and_one_of_an_older_format_are_told_and_the_others_checked(saved):
    old, broken = saved("old.tape"), saved("broken.tape", _framed(b"{}"))
    old.write_text('{"line": "tape", "v": 1}\n')
    broken.write_text(broken.read_text().replace('"packed":"', '"packed":"!'))
    found = check(old, broken, saved("z.tape", exchange(model="m")), limits=TapeLimits(models=("n",)))
    assert [(one.tape, one.kind) for one in found] == [
        ("old.tape", "older format"),
        ("broken.tape", "unreadable"),
        ("z.tape", "wrong model"),
    ]
    assert found[0].about == "version 1, and version 2 is read"
    assert found[1].next.startswith("edit `response` and leave `frames` alone")


def test_tapes_are_orphaned_without_their_test_and_unused_where_it_plays_another(saved, tmp_path):
    names = ("test_played", "test_gone", "test_unmarked")
    paths = {name: saved(f"__tapes__/test_it/{name}.tape", exchange(asked=name)).resolve() for name in names}
    lost = saved("__tapes__/test_no_file/test_x.tape", exchange(asked="lost"))
    skipped = saved("__tapes__/test_skipped/test_x.tape", exchange(asked="skipped"))
    other = saved("cassettes/other.tape", exchange(asked="elsewhere"))
    for name in ("test_it", "test_skipped"):
        (tmp_path / f"{name}.py").touch()
    players = Players(
        {paths["test_played"]: "pytest --soundstage-record=all 'test_it.py::test_played'"},
        {tmp_path / "test_it.py": frozenset({"test_played", "test_unmarked"})},
        {tmp_path / "test_skipped.py": "it is skipped"},
    )
    every = (*paths.values(), lost, skipped, other)
    assert kinds(*every) == []
    assert [(Path(one.tape).stem, one.kind) for one in check(*every, players=players)] == [
        ("test_gone", "orphaned"),
        ("test_unmarked", "unused"),
        ("test_x", "orphaned"),
    ]
    alone = players._replace(all_tapes=True)
    assert kinds(other, players=alone) == []  # a file that cannot be seen may play it
    assert kinds(other, players=alone._replace(unseen={})) == [("cassettes/other.tape", "unused")]
    (found,) = check(paths["test_played"], players=players, limits=TapeLimits(models=("n",)))
    assert found.next.endswith("then pytest --soundstage-record=all 'test_it.py::test_played'")


def test_the_command_ends_with_0_for_good_tapes_1_for_findings_and_looks_through_folders(saved, tmp_path):
    saved("in/a.tape", exchange())
    saved("in/.hidden/b.tape", exchange(model="m"))
    good = command("in", "--no-tests", "--model", "gpt-*")
    assert (good.exit_code, good.output) == (0, "1 tape(s): good\n")
    saved("in/deep/c.tape", exchange(asked="c", model="m"))
    bad = command("in", "in/a.tape", "--no-tests", "--model", "gpt-*")
    assert bad.exit_code == 1
    assert bad.output.splitlines() == [
        (
            "in/deep/c.tape: wrong model: exchange 1 asked 'm', and allowed is gpt-*; next step: "
            "let it ask an allowed model, then soundstage record --tape in/deep/c.tape --mode all -- COMMAND"
        ),
        "2 tape(s), 1 finding(s) in 1",
    ]
    data = json.loads(command("in", "--no-tests", "--model", "gpt-*", "--json").output)
    assert data["tapes"] == 2
    assert [(one["tape"], one["kind"]) for one in data["findings"]] == [("in/deep/c.tape", "wrong model")]


@pytest.mark.parametrize(
    "wrong",
    [
        ["nowhere"],
        [".", "--max-size", "big"],
        [".", "--max-size", "-1MB"],
        [".", "--max-age", "-1"],
        [".", "--no-tests", "--tests", "."],
        [],
    ],
    ids=str,
)
def test_wrong_usage_ends_with_2(saved, wrong):
    saved("a.tape", exchange())
    assert command(*wrong).exit_code == 2


def test_a_folder_without_a_tape_is_no_good_folder(saved, tmp_path):
    (tmp_path / "empty").mkdir()
    ended = command("empty", "--no-tests")
    assert ended.exit_code != 0
    assert isinstance(ended.exception, TapeError)
    assert ended.output == ""


@pytest.mark.parametrize(("size", "code"), [("1KB", 1), ("0.01 MB", 0), ("100000", 0), ("500b", 1)])
def test_sizes_have_units(saved, size, code):
    saved("a.tape", exchange(asked="x" * 3000))
    assert command("a.tape", "--no-tests", "--max-size", size).exit_code == code
