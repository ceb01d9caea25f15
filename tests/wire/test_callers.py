"""Who asks: read from headers and from what known clients send, and nothing guessed about others."""

from __future__ import annotations

import json

import httpx
import pytest

from soundstage.journal import ModelRequested
from soundstage.messages import Caller, Message, ModelRequest, ToolDefinition, system, user
from soundstage.models import Script
from soundstage.wire import with_caller
from support.wires import WIRES, run, serving

SEARCH = ToolDefinition(name="web_search")
CLAUDE_CODE = {"x-claude-code-session-id": "s1"}
SUMMARY = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."


def request(*messages: Message, **fields) -> ModelRequest:
    return ModelRequest(model="m", messages=messages or (user("hello"),), **fields)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, Caller()),
        ({"x-soundstage-agent": "executor"}, Caller(agent="executor")),
        ({"x-soundstage-conversation": "c1"}, Caller(conversation="c1")),
        ({"x-soundstage-phase": "planning"}, Caller(phase="planning")),
        ({"x-soundstage-within": "plan"}, Caller(within="plan")),
        (CLAUDE_CODE, Caller(conversation="s1")),
        (
            {**CLAUDE_CODE, "x-claude-code-agent-id": "a7"},
            Caller(agent="subagent-a7", conversation="s1", parent="main"),
        ),
        (
            {"x-claude-code-agent-id": "a8", "x-claude-code-parent-agent-id": "a7"},
            Caller(agent="subagent-a8", parent="subagent-a7"),
        ),
        (
            {"x-claude-code-agent-id": "a7", "x-soundstage-agent": "coder"},
            Caller(agent="coder", parent="main"),
        ),
        (
            {"x-soundstage-agent": "", "x-claude-code-agent-id": "a7"},
            Caller(agent="subagent-a7", parent="main"),
        ),
        ({"x-claude-code-parent-agent-id": "a7"}, Caller()),
        ({"session-id": "codex-1", "thread-id": "t"}, Caller(conversation="codex-1")),
        ({"session_id": "codex-2"}, Caller(conversation="codex-2")),
        ({"x-session-id": "opencode"}, Caller(conversation="opencode")),
        ({"thread-id": "t"}, Caller(conversation="t")),
        ({"x-session-id": "theirs", "x-soundstage-conversation": "ours"}, Caller(conversation="ours")),
    ],
)
def test_headers_say_who_asks(headers, expected):
    caller = with_caller(request(), headers).caller
    assert (caller.agent, caller.conversation) == (expected.agent, expected.conversation)
    assert (caller.parent, caller.phase) == (expected.parent, expected.phase)
    assert caller.headers == headers


@pytest.mark.parametrize(
    ("purpose", "made"),
    [
        ("probe", request(user("Hi"))),
        ("web_search", request(user("Perform a web search for the query: drums"), tools=(SEARCH,))),
        ("summary", request(user(SUMMARY), tools=(SEARCH, SEARCH))),
    ],
)
def test_what_claude_code_asks_beside_its_steps_is_known_and_only_if_it_asks(purpose, made):
    assert with_caller(made, CLAUDE_CODE).purpose == purpose
    assert with_caller(made, {}).purpose == "main"
    assert with_caller(made, {"user-agent": "my-app/1.0"}).purpose == "main"


GEMINI_CLI = {"user-agent": "GeminiCLI-tui/0.61.0/gemini-3.1-pro-preview (linux; x64; terminal)"}
ROUTER = system(
    "You are a specialized Task Routing AI. Your sole function is to assign a **Complexity Score**."
)
SCORE = {
    "type": "OBJECT",
    "properties": {"complexity_reasoning": {"type": "STRING"}, "complexity_score": {"type": "INTEGER"}},
    "required": ["complexity_reasoning", "complexity_score"],
}
AS_JSON = {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": SCORE}}


@pytest.mark.parametrize(
    ("purpose", "made"),
    [
        ("routing", request(ROUTER, user("Say hello"), settings=AS_JSON)),
        (
            "web_search",
            request(user("drums"), tools=(ToolDefinition(name="googleSearch", type="googleSearch"),)),
        ),
        ("utility", request(system("Is it a loop?"), user("Say hello"), settings=AS_JSON)),
        ("utility", request(user("Summarize the primary intent of this conversation in ONE sentence."))),
        (
            "summary",
            request(
                system(
                    "You are a specialized system component responsible for distilling chat history into a "
                    "structured XML <state_snapshot>."
                ),
                user("Say hello"),
            ),
        ),
        ("main", request(system("You are Gemini CLI."), user("Say hello"), tools=(SEARCH,))),
        ("main", request(system("You are Gemini CLI."), user("Say hello"))),
    ],
)
def test_what_gemini_cli_asks_beside_its_steps_is_known_and_only_if_it_asks(purpose, made):
    assert with_caller(made, GEMINI_CLI).purpose == purpose
    assert with_caller(made, {"user-agent": "google-genai-sdk/1.30.0"}).purpose == "main"


def test_the_router_of_gemini_cli_takes_no_rule_and_gets_what_it_can_read():
    """Its request as version 0.61.0 sends it; an answer that is no JSON of the schema is asked for five times."""
    script = Script(strict=True)
    script.on(user="Say hello", times=1).reply("Hello.")
    said = {"role": "user", "parts": [{"text": "Say hello"}]}
    step = {"contents": [said], "systemInstruction": {"parts": [{"text": "You are Gemini CLI."}]}}
    route = {
        "contents": [said],
        "systemInstruction": {"parts": [{"text": ROUTER.text}]},
        **AS_JSON,
    }

    async def main():
        async with serving(script) as served:
            routed = await ask_gemini(served, "gemini-3.5-flash-lite", route)
            assert json.loads(routed) == {"complexity_reasoning": "ok", "complexity_score": 1}
            assert await ask_gemini(served, "gemini-3.8-flash", step) == "Hello."

    run(main())


async def ask_gemini(served, model: str, body: dict) -> str:
    async with httpx.AsyncClient(base_url=served.server.url, headers=GEMINI_CLI) as client:
        answer = await client.post(f"/v1beta/models/{model}:generateContent", json=body)
    return answer.json()["candidates"][0]["content"]["parts"][0]["text"]


@pytest.mark.parametrize(
    "prompt",
    [
        "You are a title generator. You output ONLY a thread title. Nothing else.",
        "Generate concise conversation titles.",  # gptme
        "Generate a concise, sentence-case title (3-7 words) that captures the topic of this coding session.",
        "You will generate a short title based on the first message a user begins a conversation with",
    ],
)
def test_a_request_for_a_title_is_a_side_request_of_any_client(prompt):
    made = request(system(prompt), user("drums"))
    assert with_caller(made, {}).purpose == "title"
    assert with_caller(request(*made.messages, tools=(SEARCH,)), {}).purpose == "main"


@pytest.mark.parametrize(
    "made",
    [
        request(system("You generate blog posts. Each has a title and three paragraphs."), user("drums")),
        request(system("Generate a title. Then write the article."), user("drums")),
        request(system("The title of the book is 'Generators'."), user("drums")),
        request(user("Hi there")),
        request(user("Hi"), tools=(SEARCH,)),
        request(user("generate a title for this conversation")),
    ],
)
def test_an_app_that_only_looks_like_it_makes_steps(made):
    assert with_caller(made, {}).purpose == "main"
    assert with_caller(made, CLAUDE_CODE).purpose == "main"


def test_a_header_says_the_purpose_outright():
    assert with_caller(request(), {"x-soundstage-purpose": "summary"}).purpose == "summary"
    assert with_caller(request(user("Hi")), {**CLAUDE_CODE, "x-soundstage-purpose": "main"}).purpose == "main"


@pytest.fixture(params=WIRES)
def wire(request):
    return WIRES[request.param]


def test_identify_rules_tell_agents_apart_where_headers_do_not(wire):
    script = Script(strict=True)
    script.agent("planner", system="/you are the planner/i", phase="/Phase: (\\w+)/")
    script.agent("executor", system="You are the executor")
    script.on(agent="planner", phase="design").reply("a plan")
    script.on(agent="executor", previous_agent="planner").reply("done")

    async def main():
        async with serving(script) as served:
            assert await served.text(wire, system="You are the planner. Phase: design") == "a plan"
            assert await served.text(wire, system="You are the executor.") == "done"
            callers = [event.request.caller for event in served.events(ModelRequested)]
            assert [(caller.agent, caller.phase) for caller in callers] == [
                ("planner", "design"),
                ("executor", ""),
            ]

    run(main())


def test_a_header_of_ours_wins_over_identify_rules_and_they_over_a_mere_number(wire):
    script = Script(strict=True)
    script.agent("executor", system="You are the executor")
    script.on(agent="other").reply("by header")
    script.on(agent="executor").reply("by rule")
    prompt = {"system": "You are the executor."}

    async def main():
        async with serving(script) as served:
            ours = {"x-soundstage-agent": "other"}
            assert await served.text(wire, headers=ours, **prompt) == "by header"
            theirs = {"x-claude-code-agent-id": "a7"}
            assert await served.text(wire, headers=theirs, **prompt) == "by rule"

    run(main())


def test_sub_agents_of_one_session_have_counters_of_their_own(wire):
    script = Script(strict=True)
    script.on(agent="subagent-a", iteration=1).reply("a1")
    script.on(agent="subagent-a", iteration=2).reply("a2")
    script.on(agent="subagent-b", iteration=1).reply("b1")
    script.on(iteration=1).reply("main 1")

    async def main():
        async with serving(script) as served:
            texts = []
            for agent in ("a", "", "b", "a"):
                headers = {**CLAUDE_CODE, **({"x-claude-code-agent-id": agent} if agent else {})}
                texts.append(await served.text(wire, headers=headers))
            assert texts == ["a1", "main 1", "b1", "a2"]

    run(main())


def test_secrets_in_headers_are_not_in_the_journal(wire):
    secrets = {
        "authorization": "Bearer planted-secret-1",
        "x-api-key": "planted-secret-2",
        "x-goog-api-key": "planted-secret-3",
        "api-key": "planted-secret-4",
        "cookie": "session=planted-secret-5-which-is-long",
    }

    async def main():
        script = Script()
        script.on(user="hello").reply("hi")
        async with serving(script) as served:
            await served.text(wire, headers={**secrets, "x-team": "blue"})
            [event] = served.events(ModelRequested)
            assert "planted" not in repr(event)
            assert event.request.caller.headers["x-team"] == "blue"
            shown = await served.http.get("/_soundstage/journal")
            assert "planted" not in shown.text

    run(main())
