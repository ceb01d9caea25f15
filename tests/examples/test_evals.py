"""The evals of examples/evals: they pass on their tapes; a changed agent or prompt fails, with the cause."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import msgspec
import pytest

from examples.coding_team import team
from soundstage.claude_code import bundled_cli
from soundstage.evals import EvalConfigError, load_suite, run_suite
from soundstage.judges import Judge, calibrate, load_gold, load_rubric, write_calibration
from soundstage.models import Script, ScriptedModel
from soundstage.runs import RunStore
from soundstage.tapes import Tape

EVALS = Path(__file__).resolve().parents[2] / "examples" / "evals"
ROUTING, MARKETPLACE = (
    EVALS / "routing" / "routing.eval.yaml",
    EVALS / "marketplace" / "marketplace.eval.yaml",
)
CASES = [
    "search routing",
    "code routing",
    "direct answer",
    "docs routing",
    "test routing",
    "token budget",
    "JSON structure",
]
needs_cli = pytest.mark.skipif(bundled_cli() is None, reason="needs soundstage[claude]")


@pytest.fixture
def replayed(tmp_path):
    """Outcome and reason of the one run of each case; each run is kept, as `soundstage eval run` keeps it."""
    store = RunStore(tmp_path / "store")

    def replay(path, only=()):
        report = asyncio.run(run_suite(load_suite(path), store=store, only=only, concurrency=2))
        return {case.name: (case.runs[0].outcome, case.runs[0].reason) for case in report.cases}

    yield replay
    store.close()


def test_the_seven_evals_of_the_orchestrator_pass_on_their_tape(replayed):
    found = replayed(ROUTING)
    assert list(found) == CASES
    assert found == dict.fromkeys(CASES, ("passed", ""))


def test_a_changed_prompt_fails_every_eval_of_the_orchestrator_with_its_cause(replayed, monkeypatch):
    prompt = team.ORCHESTRATOR.prompt.replace("You do no work yourself.", "You do all the work yourself.")
    monkeypatch.setattr(team, "ORCHESTRATOR", msgspec.structs.replace(team.ORCHESTRATOR, prompt=prompt))
    for outcome, reason in replayed(ROUTING).values():
        assert outcome == "failed"
        assert reason.startswith("divergence: system prompt edited: messages[0] system")
        assert "You do all the work yourself." in reason
        assert "soundstage eval record" in reason


def test_another_agent_in_the_team_fails_the_evals_with_its_cause(replayed, monkeypatch):
    monkeypatch.setattr(
        team,
        "make_planner",
        lambda loop: team.PlanOrchestrator(loop, team.AGENTS, loop.journal, orchestrator="docs"),
    )
    [(outcome, reason)] = replayed(ROUTING, only=["docs routing"]).values()
    assert outcome == "failed"
    assert reason.startswith("divergence: ")


@pytest.mark.parametrize(
    ("case", "answer", "told"),
    [
        (
            "search routing",
            '{"plan": "p", "tasks": [{"agent": "code", "description": "d"}]}',
            "contains_json",
        ),
        (
            "code routing",
            '{"plan": "p", "tasks": [{"agent": "search", "description": "d"}]}',
            "contains_json",
        ),
        (
            "direct answer",
            '{"plan": "p", "tasks": [{"agent": "docs", "description": "a list changes"}]}',
            "not_contains",
        ),
        ("direct answer", "A tuple can be changed after it is made, a list cannot.", "judge"),
        ("direct answer", "Both are sequences.", "judge"),
        ("docs routing", "A plain answer.", "contains_json"),
        ("test routing", '{"plan": "p", "tasks": [{"agent": "qa", "description": "d"}]}', "contains_json"),
        ("JSON structure", '{"plan": "p", "tasks": []}', "is_json"),
        ("JSON structure", '{"plan": "", "tasks": [{"agent": "code", "description": "d"}]}', "is_json"),
    ],
)
def test_each_eval_fails_for_an_answer_that_breaks_what_it_asks_for(replayed, tmp_path, case, answer, told):
    """The recorded reply is replaced: then the request is the recorded one, and the answer is wrong."""
    suite = load_suite(ROUTING)
    wanted = next(one.input for one in suite.cases if one.name == case)
    lines = []
    for line in (ROUTING.parent / "session.jsonl").read_text().splitlines():
        data = json.loads(line)
        asked = data.get("request", {}).get("messages", [])
        if any(part.get("text") == wanted for message in asked for part in message["parts"]):
            data["response"]["parts"] = [{"kind": "text", "text": answer}]
        lines.append(json.dumps(data))
    copy = shutil.copytree(ROUTING.parent, tmp_path / "copy") / ROUTING.name
    copy.with_name("session.jsonl").write_text("\n".join(lines) + "\n")
    [(outcome, reason)] = replayed(copy, only=[case]).values()
    assert outcome == "failed"
    assert "divergence" not in reason
    kinds = {name.split(":")[0] for name in failed_evaluators(tmp_path)}
    assert told in kinds


def test_the_judge_of_the_direct_answer_decides_by_a_calibration_that_fits_its_labels(tmp_path):
    """Whoever changes rubric, judge or labels calibrates again: this test does what the README says, and compares."""
    folder = shutil.copytree(ROUTING.parent, tmp_path / "routing")
    kept = json.loads((folder / "answer.calibration.json").read_text())
    (folder / "answer.calibration.json").unlink()
    with pytest.raises(EvalConfigError, match="it has not been calibrated"):
        load_suite(folder / ROUTING.name)
    rubric = load_rubric(folder / "answer.yaml")
    judge = Judge(rubric, ScriptedModel(Script.load(folder / "judge_rules.py"), shared=True))
    found = asyncio.run(calibrate(judge, load_gold(folder / "gold.jsonl")))
    write_calibration(folder / "answer.yaml", found.calibration)
    assert json.loads((folder / "answer.calibration.json").read_text()) == kept
    assert load_suite(folder / ROUTING.name).cases


def failed_evaluators(folder):
    store = RunStore(folder / "store")
    [record] = store.list(driver="eval")
    events = [one.event for one in store.open(record.id).journal()]
    store.close()
    return [event.evaluator for event in events if type(event).__name__ == "Grade" and not event.holds]


def test_the_tapes_say_that_a_script_has_answered_and_name_no_folder_of_a_machine():
    for suite in (ROUTING, MARKETPLACE):
        text = (suite.parent / "session.jsonl").read_text()
        for exchange in Tape.load(suite.parent / "session.jsonl").exchanges:
            assert "rule" in exchange.response.served_by
        for private in (str(EVALS.parents[1]), f"{Path.home()}/", "/tmp/soundstage-"):
            assert private not in text
        assert "not on a provider" in suite.read_text()
    assert "not with a provider" in (EVALS / "README.md").read_text()


@needs_cli
@pytest.mark.full
def test_the_evals_of_the_marketplace_pass_on_their_tape(replayed):
    found = replayed(MARKETPLACE)
    assert found == dict.fromkeys(
        ["no commit without a plan", "no code without a test", "no forced push"], ("passed", "")
    )


@needs_cli
@pytest.mark.full
def test_a_plugin_that_lets_a_commit_through_fails_its_eval_with_the_cause(replayed, tmp_path):
    """A marketplace beside the suite whose hook says yes: then the request after the commit is another one."""
    import shutil

    shutil.copytree(EVALS.parent / "plugins", tmp_path / "plugins")
    shutil.copytree(MARKETPLACE.parent, tmp_path / "evals" / "marketplace")
    (tmp_path / "plugins" / "agent-loop" / "hooks" / "before_commit.py").write_text("")
    agent = tmp_path / "evals" / "marketplace" / "marketplace_agent.py"
    other = agent.with_name("marketplace_agent_2.py")
    agent.rename(other)
    suite = tmp_path / "evals" / "marketplace" / MARKETPLACE.name
    suite.write_text(suite.read_text().replace("marketplace_agent:", "marketplace_agent_2:"))
    [(outcome, reason)] = replayed(suite, only=["no commit without a plan"]).values()
    assert outcome == "failed"
    assert reason.startswith("divergence: tool result differs: Bash")
