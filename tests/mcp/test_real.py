"""Real servers by their entries in `.mcp.json`, as the user has them."""

from __future__ import annotations

import asyncio
import sys

import pytest

from soundstage.errors import ScriptError
from soundstage.journal import Journal, Redactor
from soundstage.mcp import McpHttpClient, real_server

SHOWS = "import os, sys; print([os.environ.get(name) for name in sys.argv[1:]], os.getcwd(), file=sys.stderr)"


def test_an_address_has_its_variables_and_its_secrets_are_known(tmp_path):
    entry = {
        "type": "http",
        "url": "${BASE}/mcp",
        "headers": {"Authorization": "Bearer ${TOKEN}", "x-team": "${TEAM:-shop}"},
    }
    environment = {"BASE": "http://u:pass-word-1234@127.0.0.1:9", "TOKEN": "swordfish-0123456789"}
    journal, other = Journal(redactor=Redactor()), Redactor()
    real = real_server("notes", entry, journal, environment=environment, cwd=tmp_path, redactor=other)
    assert isinstance(real, McpHttpClient)
    assert (real.url, real.transport) == ("http://u:pass-word-1234@127.0.0.1:9/mcp", "http")
    for redactor in (journal.redactor, other):
        assert redactor.text("swordfish-0123456789 pass-word-1234 shop") == "[redacted] [redacted] shop"


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "sse", "url": "http://127.0.0.1:9/sse"},
        {"url": "ftp://127.0.0.1/mcp"},
        {"url": "http://127.0.0.1:9/${NOWHERE}"},
        {"type": "http"},
    ],
)
def test_an_entry_that_cannot_be_asked_is_refused(tmp_path, entry):
    with pytest.raises(ScriptError, match="'notes'"):
        real_server("notes", entry, Journal(), environment={}, cwd=tmp_path)


def test_a_process_has_the_folder_and_the_variables_of_the_user_and_no_proxy_of_ours(tmp_path):
    names = ["HOME", "XDG_CONFIG_HOME", "MY_OWN", "HTTPS_PROXY", "OF_ENTRY"]
    entry = {"command": sys.executable, "args": ["-c", SHOWS, *names], "env": {"OF_ENTRY": "${MY_OWN}!"}}
    journal = Journal()

    async def main():
        environment = {"HOME": "/home/ann", "MY_OWN": "mine"}
        server = real_server("notes", entry, journal, environment=environment, cwd=tmp_path)
        await server.start()
        await server.stop()

    asyncio.run(main())
    (line,) = [
        record.event.text for record in journal.read() if getattr(record.event, "channel", "") == "stderr"
    ]
    assert line == f"{['/home/ann', '/home/ann/.config', 'mine', None, 'mine!']} {tmp_path}"
