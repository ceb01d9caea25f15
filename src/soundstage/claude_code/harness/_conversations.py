"""Category 3: conversations with the real CLI, whose model is scripted."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from msgspec import Meta

from soundstage.claude_code.harness._arguments import Seconds, SessionId
from soundstage.claude_code.harness._conversation import Config, ConversationTurn
from soundstage.claude_code.harness._harness import Harness
from soundstage.claude_code.harness._open import open_conversation
from soundstage.claude_code.harness._views import error_of, history, tool_calls


class Started(TypedDict):
    status: str
    session_id: str
    project_path: str
    permission_mode: str


class Prompted(TypedDict):
    status: str
    response_id: str
    session_id: str


class Response(TypedDict):
    status: str
    response_id: str
    session_id: str
    prompt: str
    response: str
    content: str
    tool_calls: list[dict[str, Any]]
    denials: list[str]
    duration_ms: float


class History(TypedDict):
    status: str
    session_id: str
    history: list[dict[str, Any]]
    total: int


class Ended(TypedDict):
    status: str
    session_id: str
    ended: bool
    unused_rules: list[str]


Prompt = Annotated[str, Meta(min_length=1, description="What the user says.", examples=["fix the bug"])]
ResponseId = Annotated[str, Meta(min_length=1, description="Response id from send_prompt.")]
Options = Annotated[
    dict[str, Any] | None,
    Meta(
        description="script, strict, project_path, plugin_dirs, permission_mode, allowed_tools, model, agent, "
        "max_turns, settings, workflow; all optional.",
        examples=[
            {
                "script": {"rules": [{"when": {"user": "hello"}, "reply": "Hi. Try /agent-loop:plan next."}]},
                "strict": True,
                "project_path": "/tmp/projects/calculator",  # noqa: S108
                "permission_mode": "acceptEdits",
            }
        ],
    ),
]


async def start_conversation(harness: Harness, config: Options = None) -> Started:
    """Start a conversation: the real Claude Code CLI in a project folder, with a scripted model.

    config, all keys optional:
    - script: what the model replies. Without one it says "nothing scripted for that" each time. Either
      - a list of replies that serve once each, in order: ["first answer", {"tool_calls": [...]}, "last"];
      - an object (or the same as YAML or JSON text, or the path of such a file) with
        rules: [{"when": {...}, "reply": ..., "times": n, "priority": n}], default: reply, strict: bool.
        when: user, system, agent, tool, iteration...; text is matched as a part, "/.../i" as an expression.
        reply: text, or {"text": ..., "tool_calls": [{"name": "Write", "arguments": {...}}]}, or
        {"error": {"status": 529}}. Each step of the agent asks the model once: after a tool call comes the
        next request, with the tool's result.
    - strict: a request that no rule answers fails, instead of getting the default reply.
    - project_path: folder to work in, from create_test_project; an empty one is made unless given.
    - plugin_dirs: folders of plugins to load for this conversation only, below a folder for plugins.
    - permission_mode: default (denies what nobody allowed), acceptEdits, plan, dontAsk, bypassPermissions, auto.
    - allowed_tools: tools that need no permission, such as "Read", "Bash(git *)", "mcp__server__tool".
    - model, agent, max_turns, settings: as the CLI's options of these names.
    - workflow: for get_workflow_stage: agent-loop, epti or visual-iteration, or the stages of your own commands,
      {"my-plugin:plan": "planning"}; unless given, that of the plugin whose command came last.

    Returns session_id, project_path, permission_mode. The conversation keeps its process until
    end_conversation; several can be open at once, each with its own script.

    Errors: an unknown key, a script with problems (each with its line), a folder that is not there, or elsewhere.

    Example: start_conversation(config={"script": ["Explored. Next: /agent-loop:plan"], "strict": true})
    """
    conversation = await open_conversation(harness, Config.read(config, harness.places.resolve))
    return {
        "status": "success",
        "session_id": conversation.id,
        "project_path": str(conversation.project),
        "permission_mode": conversation.config.permission_mode,
    }


async def send_prompt(
    harness: Harness, prompt: Prompt, session_id: SessionId, timeout: Seconds = 60.0
) -> Prompted:
    """Send a prompt, and wait until the agent has finished its turn.

    Returns response_id, for get_response. A turn that failed has a response too.

    Errors: no such session; the agent did not finish in time, or its process exited (the error shows its last
    messages). The session is over then.

    Example: send_prompt(prompt="fix the bug", session_id="...")
    """
    conversation = harness.conversation(session_id)
    turn = await conversation.session.prompt(prompt, within=timeout)
    answer = ConversationTurn(harness.ids.draw("resp_", 8), session_id, turn)
    harness.keep(answer)
    return {"status": "success", "response_id": answer.id, "session_id": session_id}


async def get_response(harness: Harness, response_id: ResponseId) -> Response:
    """Return the answer of the agent to a prompt.

    Returns response (its final words; content is the same), prompt, session_id, tool_calls (name, arguments,
    result, is_error, action_id), denials (tools that were not allowed) and duration_ms. When the turn failed,
    status is "error" and error says why.

    Errors: no such response.

    Example: get_response(response_id="resp_1a2b3c4d")
    """
    answer = harness.answer(response_id, "response")
    turn = answer.turn
    found: Response = {
        "status": "success",
        "response_id": answer.id,
        "session_id": answer.session_id,
        "prompt": turn.prompt,
        "response": turn.text,
        "content": turn.text,
        "tool_calls": tool_calls(turn),
        "denials": [denial.tool for denial in turn.denials],
        "duration_ms": turn.result.duration_ms,
    }
    return error_of(turn, found)


async def get_conversation_history(harness: Harness, session_id: SessionId) -> History:
    """Return all turns of a conversation in order: prompts, answers and tool calls.

    Returns history, a list of {"role": "user" | "assistant" | "tool", ...} as the model was told, subagents
    left out; and total, the number of entries.

    Errors: no such session.

    Example: get_conversation_history(session_id="...")
    """
    conversation = harness.conversation(session_id)
    entries = history(conversation)
    return {"status": "success", "session_id": session_id, "history": entries, "total": len(entries)}


async def end_conversation(harness: Harness, session_id: SessionId) -> Ended:
    """End a conversation and its process; later calls with its id fail.

    Returns ended, and unused_rules: the rules of its script that never served.

    Errors: no such session; ended is false then.

    Example: end_conversation(session_id="...")
    """
    conversation = harness.conversation(session_id)
    await harness.end(conversation)
    unused = [rule.label for rule in conversation.model.unused()]
    return {"status": "success", "session_id": session_id, "ended": True, "unused_rules": unused}
