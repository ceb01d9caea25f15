"""The coding team: who may do what, what each is told, and the program at work."""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import msgspec
import pytest

from examples.coding_team import web
from examples.coding_team.agents import AGENTS, ORCHESTRATOR
from examples.coding_team.team import make_loop, make_planner, team_registry
from soundstage.agents.prompts import PromptAssembler
from soundstage.agents.runtime import (
    AgentDefinitionError,
    AgentRegistry,
    AgentTask,
    PermissionMode,
    ToolError,
)
from soundstage.agents.teams import parse_plan, parse_qa, parse_review
from soundstage.clock import SystemClock, run
from soundstage.journal import Journal, ModelRequested
from soundstage.models import CallSpec, Script, ScriptedModel

ROOT = Path(__file__).resolve().parents[2]
READ = {"read_file", "glob", "grep"}
# agent -> permissions, tools, seconds, seconds at most
TABLE = {
    "search": ("read", READ | {"tree_view", "git_diff", "repo_map"}, 60, 120),
    "research": ("read web", READ | {"web_fetch"}, 45, 120),
    "code": ("read write", READ | {"write_file", "edit_file", "repo_map"}, 120, 300),
    "test": ("read write execute", READ | {"write_file", "edit_file", "bash"}, 180, 600),
    "init": ("read", READ | {"tree_view"}, 120, 300),
    "review": ("read", READ | {"git_diff", "repo_map"}, 60, 120),
    "qa": ("read execute", READ | {"bash", "git_diff"}, 120, 300),
    "docs": ("read write", {"read_file", "write_file", "edit_file", "glob"}, 60, 120),
    "orchestrator": ("read", set(), 120, 300),
}
TEAM = {agent.slug: agent for agent in (*AGENTS, ORCHESTRATOR)}
EACH = pytest.mark.parametrize("agent", AGENTS, ids=[agent.slug for agent in AGENTS])
ALL = pytest.mark.parametrize("agent", TEAM.values(), ids=list(TEAM))
PROJECT = PromptAssembler(
    project_context="A shop that sells tea.", conventions="Lines end before column 100."
)


@pytest.fixture
def registry(tmp_path):
    return team_registry(tmp_path)


def test_the_team_has_eight_agents_and_an_unknown_one_is_a_key_error(registry):
    assert list(registry) == ["search", "research", "code", "test", "init", "review", "qa", "docs"]
    with pytest.raises(KeyError, match="no agent 'orchestrator'"):
        registry["orchestrator"]


@ALL
def test_permissions_tools_and_times_are_those_of_the_table(agent):
    permissions, tools, timeout, longest = TABLE[agent.slug]
    assert agent.permissions == set(permissions.split())
    assert set(agent.tools) == tools
    assert (agent.timeout, agent.max_timeout, agent.max_turns) == (timeout, longest, 25)
    assert agent.max_output_tokens == (16_384 if agent.slug == "init" else None)


@EACH
def test_every_tool_of_an_agent_exists_and_needs_only_what_the_agent_may(agent, registry):
    assert agent.tools
    for tool in registry.tools_of(agent.slug):
        assert tool.permissions, f"{tool.name} needs no permission at all"
        assert tool.permissions <= agent.permissions


def test_a_team_whose_documentation_agent_fetches_pages_without_web_is_refused(registry):
    docs = msgspec.structs.replace(TEAM["docs"], tools=(*TEAM["docs"].tools, "web_fetch"))
    with pytest.raises(AgentDefinitionError, match="'web_fetch' needs 'web'"):
        AgentRegistry([docs], registry.tools)


@EACH
@pytest.mark.parametrize(
    ("permission", "tools"),
    [
        ("write", {"write_file", "edit_file"}),
        ("execute", {"bash"}),
        ("web", {"web_search", "web_fetch"}),
    ],
)
def test_an_agent_without_a_permission_has_none_of_its_tools(agent, permission, tools, registry):
    assert tools <= set(registry.tools)
    assert permission in agent.permissions or not tools & set(agent.tools)


def test_research_alone_has_a_suffix_for_its_model():
    assert {slug: agent.model_suffix for slug, agent in TEAM.items() if agent.model_suffix} == {
        "research": ":online"
    }


@ALL
def test_a_prompt_changes_only_on_purpose(agent, prompt_snapshot):
    prompt_snapshot(PROJECT.build(agent).text)


@ALL
def test_a_prompt_leaves_room_for_the_project(agent):
    manifest = PromptAssembler().build(agent).manifest
    assert manifest.total < 1000, manifest.format()


@ALL
def test_code_and_review_alone_end_with_the_conventions(agent):
    wanted = agent.slug in ("code", "review")
    assert PROJECT.build(agent).text.endswith("\n\n## Conventions\n\nLines end before column 100.") is wanted
    assert "## Conventions" not in PromptAssembler(project_context="A shop.").build(agent).text


@ALL
def test_init_alone_is_not_told_about_the_project(agent):
    assert agent.project_context is (agent.slug != "init")
    assert ("A shop that sells tea." in PROJECT.build(agent).text) is (agent.slug != "init")


def test_what_the_prompts_ask_for_in_json_is_what_is_read():
    review = parse_review(TEAM["review"].prompt)
    assert (review.approved, review.issues[0].line, review.overall_score) == (False, 12, 7)
    qa = parse_qa(TEAM["qa"].prompt)
    assert (qa.passed, qa.checks[0].command, qa.blockers) == (
        True,
        "make test",
        ("what must be fixed first",),
    )
    plan = parse_plan(ORCHESTRATOR.prompt)
    assert plan is not None
    assert [(task.agent, task.depends_on) for task in plan.tasks] == [("search", ()), ("code", (0,))]


def test_the_orchestrator_knows_every_agent():
    for agent in AGENTS:
        assert f"- {agent.slug}: {agent.description}" in ORCHESTRATOR.prompt


def plan(*tasks):
    return json.dumps(
        {"plan": "Do it.", "tasks": [{"agent": a, "description": d, "dependsOn": n} for a, d, n in tasks]}
    )


def shop_script(script):
    script.agent("orchestrator", system="You lead a team")
    script.agent("search", system="You find things")
    script.agent("code", system="You write and change code")
    tasks = plan(("search", "Find the price.", []), ("code", "Raise the price.", [0]))
    script.on(agent="orchestrator", user="tea").reply(tasks)
    script.on(agent="search", tool_result=False).reply(
        tool_calls=[CallSpec(name="grep", arguments={"pattern": "PRICE"})]
    )
    script.on(agent="search", tool_result="shop.py:1").reply("shop.py:1 has the price.")
    edit = {"path": "shop.py", "old": "PRICE = 3", "new": "PRICE = 4"}
    script.on(agent="code", contains="/shop.py:1 has the price.*Raise/s", tool_result=False).reply(
        tool_calls=[CallSpec(name="edit_file", arguments=edit)]
    )
    return script


@pytest.fixture
def shop(tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "shop.py").write_text("PRICE = 3\n")
    (folder / "AGENTS.md").write_text("A shop that sells tea.\n")
    (folder / "CONVENTIONS.md").write_text("Lines end before column 100.\n")
    return folder


def test_the_team_plans_searches_and_changes_a_file(shop):
    script = shop_script(Script(strict=True))
    script.on(agent="code", tool_result="replaced").reply("shop.py: the price is 4.")

    async def main():
        journal = Journal()
        loop = make_loop(ScriptedModel(script), shop, journal, model_name="m", suffixes=False)
        result = await make_planner(loop).run("Raise the price of tea.")
        return result, [r.event.request for r in journal.read() if isinstance(r.event, ModelRequested)]

    result, requests = run(main(), clock=SystemClock())
    assert [task.status for task in result.tasks] == ["completed", "completed"]
    assert (shop / "shop.py").read_text() == "PRICE = 4\n"
    by_agent = {request.caller.agent: request for request in requests}
    for slug, request in by_agent.items():
        assert [tool.name for tool in request.tools] == list(TEAM[slug].tools)
        assert "A shop that sells tea." in request.system_text
        assert ("Lines end before column 100." in request.system_text) is (slug == "code")
    assert by_agent["code"].model == "m"


@pytest.mark.parametrize(("suffixes", "asked"), [(True, "m:online"), (False, "m")])
def test_the_suffix_is_left_out_where_the_provider_does_not_know_it(shop, suffixes, asked):
    script = Script()
    script.on(user="tea").reply("a drink")

    async def main():
        journal = Journal()
        loop = make_loop(ScriptedModel(script), shop, journal, model_name="m", suffixes=suffixes)
        await loop.run(AgentTask(id="1", agent="research", prompt="tea?"))
        return [r.event.request.model for r in journal.read() if isinstance(r.event, ModelRequested)]

    assert run(main()) == [asked]


def test_a_person_who_is_asked_gets_the_time_that_a_task_may_take(shop):
    async def ask(agent, call):
        return False

    mode = PermissionMode("ask", ask)
    loop = make_loop(ScriptedModel(Script()), shop, Journal(), model_name="m", mode=mode)
    assert loop.agents["search"].timeout == 360


def program(*arguments):
    return [sys.executable, "-m", "examples.coding_team", *map(str, arguments)]


async def test_the_program_works_on_a_folder_with_a_live_model(script, model_server, command, shop):
    shop_script(script).on(agent="code", tool_result="replaced").reply("shop.py: the price is 4.")
    url = model_server.openai_url
    argv = program(
        "--folder", shop, "--base-url", url, "--yes", "--provider", "openai", "Raise the price of tea."
    )
    team = await command(argv, cwd=ROOT)
    await team.expect("2/2 tasks completed", within=30)
    assert await team.wait(within=30) == 0
    assert (shop / "shop.py").read_text() == "PRICE = 4\n"


async def test_the_program_asks_before_it_writes_and_no_is_a_no(script, model_server, terminal, shop):
    shop_script(script).on(agent="code", tool_result="not allowed when asked").reply("I may not write.")
    url = model_server.openai_url
    argv = program(
        "--folder", shop, "--base-url", url, "--plan", "--provider", "openai", "Raise the price of tea."
    )
    screen = await terminal(argv, cwd=ROOT, columns=100)
    await screen.expect("That is the plan.", within=30)
    await screen.send_line("y")
    await screen.expect("code wants to use edit_file", within=30)
    await screen.send_line("n")
    await screen.expect("I may not write.", within=30)
    await screen.expect_exit(0, within=30)
    assert (shop / "shop.py").read_text() == "PRICE = 3\n"


async def test_the_program_ends_at_once_when_it_is_interrupted_at_a_question(
    script, model_server, terminal, shop
):
    script.on(user="tea").reply(plan(("search", "Find the price.", [])))
    argv = program(
        "--folder", shop, "--base-url", model_server.openai_url, "--plan", "--provider", "openai", "tea"
    )
    screen = await terminal(argv, cwd=ROOT)
    await screen.expect("That is the plan.", within=30)
    await screen.press("Ctrl-C")
    await screen.expect_exit(130, within=30)


async def test_one_agent_can_be_asked_and_the_other_format_works_too(script, model_server, command, shop):
    script.on(user="Where is the price?").reply("shop.py:1")
    url = model_server.anthropic_url
    argv = program("--folder", shop, "--base-url", url, "--provider", "anthropic", "--agent", "search")
    team = await command([*argv, "Where is the price?"], cwd=ROOT)
    await team.expect("shop.py:1", within=30)
    assert await team.wait(within=30) == 0


@pytest.mark.parametrize(
    ("options", "named"),
    [([], "OPENAI_API_KEY or ANTHROPIC_API_KEY"), (["--provider", "anthropic"], "ANTHROPIC_API_KEY")],
)
async def test_without_a_key_the_program_says_which_one_it_needs(command, shop, options, named):
    none = {"OPENAI_API_KEY": "", "ANTHROPIC_API_KEY": ""}
    team = await command(program("--folder", shop, *options, "x"), cwd=ROOT, environment=none)
    await team.expect(f"expected: {named} in the environment", within=30)
    assert await team.wait(1, within=30) == 1


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://localhost:80/",
        "https://[::1]/",
        "http://10.0.0.1/",
        "http://169.254.169.254/latest",
    ],
)
def test_pages_inside_the_own_network_are_out_of_reach(url):
    with pytest.raises(ToolError, match="not a public host"):
        run(web.fetch(url), clock=SystemClock())


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://example.com/x", "http://", "no address"])
def test_what_is_no_page_is_refused(url):
    with pytest.raises(ToolError, match="no address of a page"):
        run(web.fetch(url), clock=SystemClock())


class Pages(BaseHTTPRequestHandler):
    """Some pages."""

    def do_GET(self):
        status, headers, body = {
            "/page": (
                200,
                {"content-type": "text/html"},
                "<head><title>t</title></head><h1>Tea</h1><p>A &amp; B</p>",
            ),
            "/moved": (302, {"location": "/page"}, ""),
            "/round": (302, {"location": "/round"}, ""),
        }.get(self.path, (404, {"content-type": "text/plain"}, "no such page"))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        """Nobody reads it."""


@pytest.fixture
def site(monkeypatch):
    """Pages on loopback, and the addresses that were checked; for this test they count as public."""
    checked = []

    async def check(url):
        checked.append(url)

    monkeypatch.setattr(web, "check_public", check)
    with HTTPServer(("127.0.0.1", 0), Pages) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", checked
        server.shutdown()
        thread.join()


def test_a_page_comes_as_text_and_every_redirect_is_checked(site):
    url, checked = site
    assert run(web.fetch(f"{url}/moved"), clock=SystemClock()) == "Tea\n\nA & B"
    assert checked == [f"{url}/moved", f"{url}/page"]
    for path, message in (("/none", "status 404: no such page"), ("/round", "redirects more than 5 times")):
        with pytest.raises(ToolError, match=message):
            run(web.fetch(f"{url}{path}"), clock=SystemClock())
