"""A team of three agents, in process: an orchestrator, one that works, and one that verifies and sends back.

The agents, the expected sequence and the expected hand-overs are those of the packaged scenario `feedback-loop`.
Loop, registry, coordination and routing are the ones that work with a real model, too.
"""

from __future__ import annotations

from typing import Any, Final

from soundstage.agents.runtime import AgentLoop, AgentRegistry
from soundstage.agents.scenarios import complete, feedback_loop, hand_on, route
from soundstage.agents.teams import ConversationCoordinator, TurnRouter, flow_tools
from soundstage.demo._scenario import DemoScenario
from soundstage.host import Host, HostBuilder
from soundstage.models import Script

TASK: Final = "Let users sign in."
ISSUE: Final = "plaintext"
PACE: Final[dict[str, Any]] = {"first_token_after": 0.4, "tokens_per_second": 30}
LOOP: Final = feedback_loop(message=TASK, issue=ISSUE)


def _script() -> Script:
    script = Script(strict=True)

    def says(agent: str, iteration: int, text: str, *calls: Any, **conditions: Any) -> None:
        rule = script.on(agent=agent, iteration=iteration, **conditions)
        rule.reply(text, tool_calls=list(calls), **PACE)

    orchestrator = (("executor", "execute"), ("test-pm", "verification")) * 2
    for number, (agent, phase) in enumerate(orchestrator, start=1):
        says("orchestrator", number, route(agent, phase=phase, reason=f"it is time to {phase}"))
    says(
        "executor",
        1,
        "Users can sign in; passwords are in users.txt.",
        hand_on("verification"),
        contains=TASK,
    )
    says("test-pm", 1, "Not yet.", hand_on("execute", f"passwords are kept as {ISSUE}; hash them"))
    says("executor", 2, "Passwords are hashed with scrypt now.", hand_on("verification"), contains=ISSUE)
    says("test-pm", 2, "Signing in works, nothing readable is kept.", complete("approved"))
    return script


def setup(builder: HostBuilder) -> HostBuilder:
    """Only what the model says; the team is the app."""
    return builder.with_script(_script())


async def body(host: Host) -> None:
    """One task, eight turns; the verifier's complaint has to reach the one who works."""
    coordinator = ConversationCoordinator(host.journal, ids=host.ids)
    loop = AgentLoop(
        host.model,
        AgentRegistry(LOOP.agents, flow_tools()),
        journal=host.journal,
        ids=host.ids,
        default_model="gpt-4.1",
    )
    await TurnRouter(coordinator, loop, LOOP.agents).run(coordinator.create(TASK))
    LOOP.check([host.trace])


SCENARIO = DemoScenario(
    "team of three agents, in process, virtual time",
    "An orchestrator decides who works; a verifier sends the work back once, and then approves it.",
    setup,
    body,
)
