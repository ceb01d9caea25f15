"""What a client has started ends with it, however it goes."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

from soundstage.mcp_server._options import McpOptions
from soundstage.mcp_server._serve import _Harnesses


def test_a_signal_while_a_client_goes_waits_until_nothing_is_left(roots: tuple[Path, Path]) -> None:
    async def main() -> None:
        harnesses = _Harnesses(McpOptions(projects=roots[0], artifacts=roots[1]))
        harness = harnesses()
        claude = await harness.claude()
        await claude.open()
        home = claude.home
        first = asyncio.create_task(harness.close())
        await asyncio.sleep(0)  # it has begun
        await harnesses.close()
        assert not home.exists()
        await first

    asyncio.run(main())


def test_a_program_that_does_not_end_by_itself_is_gone_before_a_client_over_stdio_loses_patience(
    over_stdio: Any, running: Any, tmp_path: Path
) -> None:
    async def main() -> None:
        async with over_stdio() as tools:
            await tools.good("start_conversation")
            os.kill(
                running(tmp_path / "tmp")["claude"], signal.SIGSTOP
            )  # it hears neither its input nor SIGTERM

    asyncio.run(main())
    assert running(tmp_path / "tmp") == {}
    assert list((tmp_path / "tmp").iterdir()) == []
