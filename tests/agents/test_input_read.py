"""An event that comes in from outside has a reader, or the app does not start."""

from __future__ import annotations

import pytest

from soundstage.agents import AgentPrompt, ChatReceived, CovenantError, Pump, configured_app
from soundstage.host import HostBuilder


@pytest.mark.parametrize(
    "configure",
    [
        lambda app: app.use_console(),
        lambda app: (app.use_console(), app.with_daemon(pump_of(AgentPrompt))),
    ],
)
def test_an_app_that_nobody_reads_the_input_of_is_refused_at_its_start(configure):
    async def body(host):
        raise AssertionError("the body must not run")

    with pytest.raises(CovenantError, match="'console' takes ChatReceived in and nobody reads it"):
        HostBuilder().with_app(configured_app(configure)).run(body)


def test_input_that_a_daemon_by_hand_reads_is_read(run_app):
    seen = []
    run_app(
        lambda app: (app.use_console(), app.with_daemon(pump_of(ChatReceived, seen.append))), lines=["hello"]
    )
    assert [record.event.text for record in seen] == ["hello"]


def pump_of(kind, handle=lambda record: None):
    return lambda scope: Pump("by hand", scope.followers, (kind,), handle)
