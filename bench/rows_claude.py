"""A Claude Code run through the driver against the bare CLI: one prompt, one answer, from start to exit.

Ours is what a test does: our server, journal and proxy are started, the real CLI is started in a throw-away
home, gets a prompt, answers, and is ended; nothing of it is left. The bare run is the same CLI with the same
arguments and variables, started with `subprocess`, against a server that sends constant bytes.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from _load import BenchError
from _pairs import interleave, median, ratio
from _servers import constant, server
from _settings import Settings
from _table import Row, millis

NAME = "claude"
PROMPT, ANSWER = "Say hello.", "Hello, this is the scripted answer."
WITHIN = 60.0
_NOWHERE = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9") | {
    "NO_PROXY": "127.0.0.1"
}
_DEAD_PROXY = {
    **_NOWHERE,
    **{name.lower(): value for name, value in _NOWHERE.items()},
    "NODE_USE_ENV_PROXY": "1",
}
WHAT, AGAINST = "a Claude Code run through the driver, one prompt", "the bare CLI and a constant server"


def rows(settings: Settings) -> Iterator[Row]:
    """The rows of this file."""
    absent = _missing()
    if absent:
        yield Row(WHAT, AGAINST, absent, target=1.15, bound="at most")
        return
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.sse"
        answer.write_bytes(_events())
        with server(constant(answer, "text/event-stream"), core=None) as port:
            turns = {"driver": _driven, "bare": lambda: _bare(port)}
            settings.tell("warming up")
            interleave(turns, 1)
            times = interleave(turns, settings.scaled(15, least=3), settings.tell)
    figures = f"{millis(median(times['driver']))} : {millis(median(times['bare']))}"
    yield Row(WHAT, AGAINST, figures, ratio(times["driver"], times["bare"]), 1.15, "at most")


def _missing() -> str:
    from soundstage.drivers.claude_code import find_cli
    from soundstage.errors import EnvironmentProblem

    try:
        find_cli()
    except EnvironmentProblem as problem:
        return problem.summary
    return ""


def _driven() -> float:
    """Seconds of a run through the driver."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        text = asyncio.run(_drive(Path(folder)))
        elapsed = time.perf_counter() - start
    return _checked(text, elapsed)


async def _drive(workspace: Path) -> str:
    from soundstage.drivers import ClaudeCode
    from soundstage.journal import Journal
    from soundstage.models import Script, ScriptedModel
    from soundstage.wire import ModelServer

    script = Script()
    script.on(user=PROMPT).reply(ANSWER)
    journal = Journal()
    model_server = ModelServer(ScriptedModel(script), journal)
    claude = ClaudeCode(journal, model_server, workspace)
    await model_server.start()
    await claude.start()
    turn = await claude.prompt(PROMPT, within=WITHIN)
    await claude.stop()
    await model_server.stop()
    return turn.text


def _bare(port: int) -> float:
    """Seconds of a run of the CLI alone."""
    with tempfile.TemporaryDirectory() as folder:
        root, workspace = Path(folder) / "root", Path(folder) / "workspace"
        for made in (root / "home", root / "tmp", workspace):
            made.mkdir(parents=True)
        start = time.perf_counter()
        text = _prompted(_command(), _environment(root, port), workspace)
        elapsed = time.perf_counter() - start
    return _checked(text, elapsed)


def _prompted(command: list[str], environment: dict[str, str], cwd: Path) -> str:
    message = {"type": "user", "message": {"role": "user", "content": PROMPT}}
    with subprocess.Popen(
        command,
        cwd=cwd,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        said = (json.loads(line) for line in process.stdout)
        result = next((line["result"] for line in said if line["type"] == "result"), "")
        process.stdin.close()
        process.stdout.read()
    return str(result)


def _command() -> list[str]:
    from soundstage.clock import IdSource
    from soundstage.drivers.claude_code import SessionOptions, find_cli
    from soundstage.drivers.claude_code._options import arguments

    return [str(find_cli()), *arguments(SessionOptions(), IdSource().uuid())]


def _environment(root: Path, port: int) -> dict[str, str]:
    from soundstage.drivers._isolation import isolated
    from soundstage.drivers.claude_code._environment import claude_environment

    own = claude_environment(
        f"http://127.0.0.1:{port}", root / "tmp", permission_mode="default", root=os.geteuid() == 0
    )
    return isolated(os.environ, root, proxy=_DEAD_PROXY, extra=own)


def _checked(text: str, elapsed: float) -> float:
    if text != ANSWER:
        raise BenchError(f"Claude Code: expected {ANSWER!r}, got {text!r}")
    return elapsed


def _events() -> bytes:
    """A streamed answer of the Messages format."""
    usage = {"input_tokens": 10, "output_tokens": 9}
    message = {
        "id": "msg_0",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    events = (
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ANSWER}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": usage,
        },
        {"type": "message_stop"},
    )
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
