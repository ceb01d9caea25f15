"""Workflows on real runners: agents in process and programs, watchers, budgets, and sums over all stages."""

from __future__ import annotations

import asyncio
import sys

import pytest

from soundstage.drivers import Command
from soundstage.journal import AgentStarted, Journal, Noted, UsageReported, read_journal
from soundstage.messages import Caller, ModelRequest, Usage, user
from soundstage.models import complete
from soundstage.runs import AgentRunner, Budget, CostBudgetExceededError, RunAbortedError
from soundstage.trace import PRICES
from soundstage.workflows import Stage, Until, Workflow, WorkflowContext, WorkflowFailedError, build_workflow

ECHO = "import sys; print('heard', sys.stdin.readline().strip()); open('heard.txt', 'w').write('x')"


def asks(model, name="helper"):
    """An agent in process that asks a model once."""

    async def agent(prompt, run):
        run.journal.append(AgentStarted(agent=name), source=name)
        request = ModelRequest(
            model=run.config.model or "claude-haiku-5-5", messages=(user(prompt),), caller=Caller(agent=name)
        )
        return (await complete(model, request)).text

    return agent


async def shop(app):
    """A bot that sells what people order."""
    await app.discord.connect()
    async for message in app.discord.inbound_messages:
        await app.discord.send_message(message.channel_id, f"{message.content}: 3 francs, {message.author}")


async def test_one_workflow_hands_on_from_a_program_to_an_agent_and_to_people(
    workflow, workspace, terminal, model, script, journal, virtual_discord, run_app
):
    script.on(user="heard tea").reply("Green or black?", usage=Usage(input_tokens=10, output_tokens=3))
    await run_app(shop)

    def waiter(config):
        return Command([sys.executable, "-c", ECHO], journal, cwd=workspace.root)

    async def guest(context):
        assert context.output == "Green or black?"
        screen = await terminal([sys.executable, "-c", "print('you said', input('which? '))"])
        await screen.expect("which?")
        await screen.send_line("green")
        await screen.expect("you said green")

    async def buyer(context):
        await virtual_discord.user("ann").says("green tea", channel="general")
        return await virtual_discord.expect("3 francs, ann")

    result = await workflow(
        Stage("order", prompt="tea", target=waiter),
        Stage("ask", prompt=lambda context: context.output, target=asks(model)),
        Stage("choose", guest),
        Stage("buy", buyer),
    )
    assert [stage.status for stage in result.stages] == ["complete"] * 4
    assert [run.output for run in workflow.context.runs] == ["heard tea", "Green or black?"]
    assert [file.path for file in result.files] == ["heard.txt"]
    assert result.usage.total_tokens == 13
    assert result.output == "green tea: 3 francs, ann"


async def test_cost_tokens_and_duration_of_a_workflow_are_the_sums_of_its_stages(workflow, model, script):
    for word, tokens in (("plan", 1000), ("build", 3000)):
        script.on(user=word).reply(
            f"{word} done", usage=Usage(input_tokens=tokens, output_tokens=tokens // 10)
        )
    agent = asks(model)

    async def rest(context):
        await asyncio.sleep(5)

    result = await workflow(
        Stage("plan", prompt="plan"), Stage("rest", rest), Stage("build", prompt="build"), target=agent
    )
    stages = [stage.result for stage in result.stages]
    assert result.usage.input_tokens == 4000 == sum(stage.usage.input_tokens for stage in stages)
    assert result.usage.output_tokens == 400
    price = PRICES.find("claude-haiku-5-5")
    assert result.cost.usd == pytest.approx((4000 * price.input + 400 * price.output) / 1e6)
    assert result.cost.usd == pytest.approx(sum(stage.cost.usd for stage in stages if stage.cost))
    assert result.duration == 5 == sum(stage.duration for stage in stages)


async def test_an_agent_that_counts_itself_and_one_whose_model_is_seen_are_added_up(workflow, model, script):
    script.on(user="build").reply("done", usage=Usage(input_tokens=1000, output_tokens=0))

    async def counts_itself(prompt, run):
        run.journal.append(UsageReported(usage=Usage(input_tokens=7, output_tokens=3), cost=0.25))
        return "planned"

    result = await workflow(
        Stage("plan", prompt="plan", target=counts_itself), Stage("build", prompt="build", target=asks(model))
    )
    price = PRICES.find("claude-haiku-5-5")
    assert result.usage == Usage(input_tokens=1007, output_tokens=3)
    assert result.cost.usd == pytest.approx(0.25 + 1000 * price.input / 1e6)


async def test_a_cost_that_one_stage_does_not_know_is_not_known_for_all(workflow, model, script):
    script.on(agent="helper").reply("done", usage=Usage(input_tokens=1000, output_tokens=0))
    result = await workflow(
        Stage("a", prompt="a"),
        Stage("b", prompt="b", options={"model": "nobody-knows-it"}),
        target=asks(model),
    )
    assert result.cost.amount is None
    assert "nobody-knows-it" in result.cost.reason
    assert list(result.cost.by_model) == ["claude-haiku-5-5"]


async def test_a_budget_of_the_test_stops_the_agent_of_a_stage_and_keeps_what_there_was(
    workflow, model, script
):
    script.on(user="plan").reply("dear", usage=Usage(input_tokens=1_000_000, output_tokens=1))
    with pytest.raises(WorkflowFailedError) as failed:
        await workflow(Stage("plan", prompt="plan"), target=asks(model), budget=Budget(cost=0.01))
    assert isinstance(failed.value.__cause__, CostBudgetExceededError)
    assert workflow.context.get_run(-1).usage.input_tokens == 1_000_000
    assert failed.value.partial_result.usage.input_tokens == 1_000_000


async def test_the_model_of_the_test_reaches_the_agent_and_that_of_a_stage_wins(
    workflow, model, script, trace
):
    script.on(agent="helper").reply("yes")
    await workflow(
        Stage("one", prompt="a"),
        Stage("two", prompt="b", options={"model": "of-the-stage"}),
        target=asks(model),
        config={"model": "of-the-test"},
    )
    assert [step.request.model for step in trace().steps] == ["of-the-test", "of-the-stage"]


def notes(count):
    async def agent(prompt, run):
        for number in range(count):
            run.journal.append(Noted(text=f"{prompt} {number}"))
            await asyncio.sleep(1)
        return "done"

    return agent


async def test_watchers_of_all_stages_are_awaited_one_after_the_other_in_their_order(workflow):
    log, inside = [], []

    def watcher(name):
        async def watch(seen):
            if isinstance(seen.event, Noted):
                inside.append(name)
                assert len(inside) == 1, "two watchers at once"
                await asyncio.sleep(0.5)
                inside.pop()
                log.append((seen.event.text, name))

        return watch

    workflow.context.watch(watcher("first"))
    workflow.context.watch(watcher("second"))
    await workflow(Stage("a", prompt="a"), Stage("b", prompt="b"), target=notes(2))
    wanted = [f"{stage} {number}" for stage in "ab" for number in range(2)]
    assert log == [(text, name) for text in wanted for name in ("first", "second")]


@pytest.mark.parametrize("raises", [True, False])
async def test_a_watcher_that_aborts_ends_the_stage_and_later_watchers_do_not_see_why(raises, workflow):
    seen = []

    async def stop(event):
        if isinstance(event.event, Noted) and event.event.text == "a 1":
            if raises:
                raise ValueError("enough")
            return {"abort": True}
        return None

    async def later(event):
        if isinstance(event.event, Noted):
            seen.append(event.event.text)

    workflow.context.watch(stop)
    workflow.context.watch(later)
    with pytest.raises(WorkflowFailedError) as failed:
        await workflow(Stage("a", prompt="a"), Stage("b", prompt="b"), target=notes(3))
    cause = failed.value.__cause__
    assert isinstance(cause, RunAbortedError)
    assert cause.reason == "watcher"
    assert seen == ["a 0"]
    assert failed.value.partial_result.stage("b").status == "skipped"
    assert workflow.context.get_run(0).abort == "watcher"


async def test_a_disposed_context_calls_no_watcher_any_more(journal):
    seen = []

    async def watch(event):
        seen.append(event)

    async def agent(prompt, run):
        context.dispose()
        run.journal.append(Noted(text="after the end"))
        return "done"

    context = WorkflowContext(journal, agent)
    context.watch(watch)
    await context.runner().run("go")
    assert [event.event for event in seen if isinstance(event.event, Noted)] == []


async def test_a_runner_of_your_own_runs_its_stage(workflow, journal, model, script):
    script.on(agent="helper").reply("yes")
    runner = AgentRunner(asks(model), journal=journal, budget=Budget(turns=1))
    result = await workflow(Stage("a", prompt="a", target=runner))
    assert runner.last is workflow.context.get_run(0)
    assert result.status == "complete"


async def test_a_run_that_times_out_and_is_returned_makes_stage_and_workflow_partial(workflow):
    async def hangs(prompt, run):
        await asyncio.Event().wait()

    result = await workflow(Stage("a", prompt="a", target=hangs), on_abort="return", config={"timeout": 5})
    assert (result.stages[0].status, result.status) == ("partial", "partial")
    assert result.stages[0].result.abort == "timeout"


async def test_a_workflow_that_is_kept_reads_as_it_was(tmp_path):
    path = tmp_path / "journal.jsonl"
    journal = Journal(path)

    async def agent(prompt, run):
        return f"did {prompt}"

    async def look(context):
        pass

    flow = Workflow(
        Stage(
            "plan", prompt="plan", target=agent, until=Until(lambda context: True), metadata={"owner": "ann"}
        ),
        Stage("never", look, should_run=lambda context: False),
        Stage("look", look),
    )
    await Workflow(Stage("earlier", look)).run(WorkflowContext(journal))
    result = await flow.run(WorkflowContext(journal))
    journal.append(Noted(text="later"))
    journal.close()
    assert build_workflow(read_journal(path)) == result


async def test_a_workflow_that_was_cut_off_reads_as_far_as_it_came(journal):
    found = []

    async def look(context):
        found.append(build_workflow(journal.read()))

    async def agent(prompt, run):
        return "done"

    await Workflow(Stage("plan", prompt="x", target=agent), Stage("look", look)).run(WorkflowContext(journal))
    assert [(stage.name, stage.status) for stage in found[0].stages] == [
        ("plan", "complete"),
        ("look", "running"),
    ]
    assert found[0].status == "partial"


def test_records_without_a_workflow_are_told():
    with pytest.raises(LookupError, match="no WorkflowStarted"):
        build_workflow([])
