"""Everything that a client has started ends with it, however it goes."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from soundstage.claude_code.harness._harness import Harness
from soundstage.claude_code.harness._table import TOOLSET
from soundstage.errors import EnvironmentProblem
from soundstage.mcp.server import McpOptions
from soundstage.mcp.server._toolset import ServerTools


def test_a_signal_while_a_client_goes_waits_until_nothing_is_left(roots: tuple[Path, Path]) -> None:
    async def main() -> None:
        server = ServerTools([TOOLSET], McpOptions(projects=roots[0], artifacts=roots[1]))
        client = server.connect()
        (_, harness), *_ = client.by_name.values()
        assert isinstance(harness, Harness)
        claude = await harness.claude()
        await claude.open()
        home = claude.home
        first = asyncio.create_task(client.close())
        await asyncio.sleep(0)  # it has begun
        await server.close()
        assert not home.exists()
        await first

    asyncio.run(main())


def test_a_program_that_does_not_end_by_itself_is_gone_before_a_client_over_stdio_loses_patience(
    over_stdio: Any, running: Any, tmp_path: Path
) -> None:
    async def main() -> None:
        async with over_stdio() as tools:
            await tools.good("start_conversation")
            claude = running(tmp_path / "tmp")["claude"]
            os.kill(claude, signal.SIGSTOP)  # it hears neither its input nor SIGTERM

    asyncio.run(main())
    assert running(tmp_path / "tmp") == {}
    assert list((tmp_path / "tmp").iterdir()) == []


def test_conversations_end_at_the_same_time_and_one_that_does_not_end_keeps_nothing(
    roots: tuple[Path, Path],
) -> None:
    async def main() -> None:
        both = asyncio.Barrier(2)
        ended = []

        async def end(name: str) -> int:
            await both.wait()
            if name == "bad":
                raise EnvironmentProblem("bad does not end")
            await asyncio.sleep(0)
            ended.append(name)
            return 0

        harness = Harness(projects=roots[0], artifacts=roots[1])
        home = (await harness.claude()).home
        for name in ("bad", "good"):
            talk = SimpleNamespace(id=name, session=SimpleNamespace(end=lambda name=name: end(name)))
            harness.conversations[name] = talk  # type: ignore[assignment]
        with pytest.raises(EnvironmentProblem, match="bad does not end"):
            await harness.close()
        assert ended == ["good"]
        assert not home.exists()

    asyncio.run(main())
