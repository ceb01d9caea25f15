"""The control endpoints: no server of ours shows it the run or takes rules from it without the token."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import httpx
import pytest

import soundstage
from soundstage.clock import SystemClock
from soundstage.discord import Discord
from soundstage.journal import Journal, Noted
from soundstage.mcp import McpScript, McpServer
from soundstage.models import Script, ScriptedModel
from soundstage.net import HttpServer
from soundstage.nostr import NostrRelay
from soundstage.otel import OtlpReceiver
from soundstage.tapes import Playback, Tape, TapeServer
from soundstage.wire import ModelServer

SERVERS = {
    "ModelServer": lambda journal: ModelServer(ScriptedModel(Script()), journal),
    "Discord": lambda journal: Discord(journal, users=["ann"]),
    "NostrRelay": NostrRelay,
    "McpDaemon": lambda journal: McpServer(journal, script=McpScript()),
    "OtlpReceiver": OtlpReceiver,
    "TapeServer": lambda journal: TapeServer(Tape(), journal, playback=Playback(Tape())),
}
ENDPOINTS = [
    ("GET", "journal"),
    ("GET", "journal?after=0&within=0"),
    ("GET", "unused"),
    ("POST", "rules"),
    ("POST", "reset"),
    ("PUT", "rules"),
    ("GET", "../_soundstage/journal"),
    ("GET", "%2e%2e/_soundstage/journal"),
]
RULE = b'{"rules": [{"reply": "mine"}]}'
SECRET = "only the test may read this"


def test_every_server_of_ours_is_in_the_table():
    """The harness over MCP is a server for its user, not for programs under test; it has a token of its own."""
    root = Path(soundstage.__file__).parent
    found = set()
    for path in root.rglob("*.py"):
        bases = r"^class (\w+)\([^)]*\b(?:HttpServer|ModelEndpoint)\b"
        found |= set(re.findall(bases, path.read_text(), re.MULTILINE))
    assert found - {"ModelEndpoint"} == set(SERVERS)


@pytest.mark.parametrize("name", SERVERS)
def test_a_program_that_knows_the_address_and_its_own_key_reads_no_journal_and_adds_no_rule(name):
    async def main():
        journal = Journal(clock=SystemClock())
        server = SERVERS[name](journal)
        assert isinstance(server, HttpServer)
        await server.start()
        try:
            journal.append(Noted(text=SECRET), source="test")
            keys = [
                {},
                {"authorization": "Bearer x"},
                {"authorization": f"Bot {getattr(server, 'token', 'x')}"},
            ]
            keys += [
                {"x-api-key": "sk-soundstage"},
                {"x-soundstage-control": ""},
                {"x-soundstage-control": "null"},
            ]
            address = re.sub(r"^ws", "http", server.url).split("/mcp")[0]
            async with httpx.AsyncClient(base_url=address, timeout=20) as client:
                for method, path in ENDPOINTS:
                    for headers in keys:
                        for prefix in (
                            "/_soundstage/",
                            "//_soundstage/",
                            "/v1/_soundstage/",
                            "/api/v10/_soundstage/",
                        ):
                            answer = await client.request(
                                method, prefix + path, headers=headers, content=RULE
                            )
                            assert answer.status_code >= 400, (method, prefix, path, headers)
                            assert SECRET not in answer.text
        finally:
            await server.stop()

    asyncio.run(main())
