"""Executors: the same runs in other interpreters, some of which are killed; what cannot be sent is refused."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from soundstage.clock import IdSource
from soundstage.errors import EnvironmentProblem, ScriptError, UnknownNameError, WrongValueError
from soundstage.evals import (
    Case,
    CommandAgent,
    NamedEvaluator,
    ProcessExecutor,
    RayExecutor,
    evaluator_of,
    executor_of,
    load_suite,
    run_suite,
)
from soundstage.evals._recording import record_suite
from soundstage.evals.workers._messages import job_of
from soundstage.live import ProviderLimits
from soundstage.messages import ModelRequest, user
from soundstage.models import ScriptedModel, complete, load_script
from soundstage.runs import RunStore
from tests.evals.conftest import suite_of, without_times

EXECUTORS = [
    pytest.param(lambda: ProcessExecutor(workers=2), id="processes"),
    pytest.param(lambda: RayExecutor(workers=2), id="ray"),
]


def run(suite, store, **options):
    return asyncio.run(run_suite(suite, store=store, **options))


def asking_suite(**fields):
    """The agent asks the model, writes a file, and fails at every third number of the case `b`."""

    async def agent(prompt, place):
        asked = ModelRequest(model="m", messages=(user(f"weather {prompt}"),))
        text = (await complete(place.model, asked)).text
        (place.workspace.root / "note.txt").write_text(f"{prompt} {place.seed}")
        return text if prompt != "b" or place.number % 3 else "no idea"

    cases = [
        Case(name=name, input=name, expect=(evaluator_of("files_modified", ["note.txt"]),)) for name in "abc"
    ]
    expect = (evaluator_of("contains", "sunny"), evaluator_of("model_requests", 1))
    return suite_of(agent, **{"cases": cases, "expect": expect, "repeat": 4, **fields})


@pytest.mark.parametrize("made", EXECUTORS)
def test_a_report_is_that_of_this_process_and_journals_and_files_are_in_the_store(tmp_path, made):
    stores = [RunStore(tmp_path / name) for name in ("here", "there")]
    here = run(asking_suite(), stores[0])
    there = run(asking_suite(), stores[1], executor=made())
    assert without_times(there) == without_times(here)
    assert there.rate.passed == 11
    for case in here.cases:
        for one, other in zip(case.runs, there.cases[here.cases.index(case)].runs, strict=True):
            ours, theirs = stores[0].open(one.run), stores[1].open(other.run)
            kinds = [[type(record.event) for record in run.journal()] for run in (ours, theirs)]
            assert kinds[0] == kinds[1]
            notes = [
                [file.after.text() for file in run.result().files if file.path == "note.txt"]
                for run in (ours, theirs)
            ]
            assert notes[0] == notes[1] != []
    for store in stores:
        store.close()


@pytest.mark.parametrize("made", EXECUTORS)
def test_a_worker_that_is_killed_in_the_middle_costs_no_run_and_none_is_counted_twice(tmp_path, store, made):
    mark = tmp_path / "killed"
    pids = tmp_path / "pids"
    pids.mkdir()

    async def agent(prompt):
        (pids / str(os.getpid())).touch()
        if prompt == "c3":
            try:
                mark.touch(exist_ok=False)
            except FileExistsError:
                return "sunny"
            os.kill(os.getpid(), signal.SIGKILL)
        return "sunny"

    cases = [
        Case(name=f"c{number}", input=f"c{number}", expect=(evaluator_of("contains", "sunny"),))
        for number in range(8)
    ]
    report = run(suite_of(agent, cases=cases, repeat=2), store, executor=made())
    assert mark.exists()
    assert (report.rate.passed, report.rate.runs, report.errors) == (16, 16, ())
    kept = store.list(driver="eval")
    assert len({(one.labels["case"], one.labels["number"]) for one in kept}) == len(kept) == 16
    assert any(one.warnings for one in kept if one.labels["case"] == "c3")
    used = [path.name for path in pids.iterdir()]
    assert len(used) >= 3
    assert not any(Path("/proc", pid).exists() for pid in used)


def test_a_run_that_always_ends_its_worker_is_an_error_and_the_others_are_results(store):
    async def agent(prompt):
        if prompt == "b":
            os.kill(os.getpid(), signal.SIGKILL)
        return "sunny"

    cases = [Case(name=name, input=name, expect=(evaluator_of("contains", "sunny"),)) for name in "abc"]
    report = run(suite_of(agent, cases=cases), store, executor=ProcessExecutor(workers=1))
    assert [case.runs[0].outcome for case in report.cases] == ["passed", "error", "passed"]
    assert "worker was lost" in report.errors[0].reason


def test_what_agents_print_does_not_come_between_the_answers(store, capfd):
    async def agent(prompt):
        sys.stdout.write('{"case": "a"}\n')
        os.write(1, b"raw\n")
        assert sys.stdin.read() == ""
        return prompt

    assert run(suite_of(agent), store, executor=ProcessExecutor(workers=1)).passed
    assert "raw" in capfd.readouterr().err


def test_programs_have_the_same_surroundings_in_a_worker(store, tmp_path):
    code = "import os; print(open('given.txt').read(), os.environ['SOUNDSTAGE_SEED'])"
    seen = []
    for executor in (None, ProcessExecutor(workers=1)):
        cases = [
            Case(
                name="a",
                input="go",
                files={"given.txt": "given"},
                expect=(evaluator_of("contains", "given"),),
            )
        ]
        suite = suite_of(agent=CommandAgent((sys.executable, "-c", code)), cases=cases)
        report = run(suite, store, executor=executor)
        assert report.passed, report.cases[0].runs[0].reason
        seen.append(store.open(report.cases[0].runs[0].run).result().output)
    assert seen[0] == seen[1]


def test_seeds_differ_by_case_and_number_and_not_by_order(store):
    def seeds(**options):
        found = {}

        async def agent(prompt, place):
            found[prompt, place.number] = place.seed
            return "sunny"

        cases = [Case(name=name, input=name, expect=(evaluator_of("contains", "sunny"),)) for name in "ab"]
        run(suite_of(agent, cases=cases, repeat=2), store, **options)
        return found

    first = seeds(concurrency=1)
    assert len(set(first.values())) == 4
    assert seeds(concurrency=4, only=["b"]) == {key: seed for key, seed in first.items() if key[0] == "b"}
    assert all(IdSource(seed).hex() == IdSource(seed).hex() for seed in first.values())


def test_an_evaluator_that_is_broken_is_the_same_error_in_a_worker(store):
    def broken(run):
        raise ZeroDivisionError

    cases = [Case(name="x", input="b", expect=(NamedEvaluator("broken", broken),))]
    reports = [
        run(suite_of(cases=cases), store, executor=executor)
        for executor in (None, ProcessExecutor(workers=1))
    ]
    assert without_times(reports[0]) == without_times(reports[1])
    assert "'broken' is broken" in reports[1].errors[0].reason


def test_a_suite_that_holds_what_cannot_leave_the_process_is_refused_before_anything_starts(store):
    lock = threading.Lock()

    async def agent(prompt):
        with lock:
            return prompt

    with pytest.raises(ScriptError, match="cannot be sent to a worker") as caught:
        run(suite_of(agent), store, executor=ProcessExecutor(workers=1))
    assert "lock" in caught.value.seen


def test_a_suite_whose_module_a_worker_cannot_import_is_refused_before_any_run(store, monkeypatch):
    module = type(sys)("only_here")
    exec("async def agent(prompt):\n    return prompt", module.__dict__)
    monkeypatch.setitem(sys.modules, "only_here", module)
    with pytest.raises(ScriptError, match="cannot be loaded in a worker") as caught:
        run(suite_of(module.agent), store, executor=ProcessExecutor(workers=1))
    assert "only_here" in caught.value.seen
    assert store.list() == []


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("proceses",), UnknownNameError),
        (("local", 2), WrongValueError),
        (("processes", 0), WrongValueError),
        (("processes", 2, "h:1"), WrongValueError),
    ],
)
def test_an_executor_that_cannot_be_meant_so_is_refused(options, error):
    kind, workers, address = (*options, None, "")[:3] if len(options) < 3 else options
    with pytest.raises(error):
        executor_of(kind, workers=workers, address=address or "")


def test_a_cluster_that_cannot_be_reached_is_an_error_within_seconds(store):
    for address in ("127.0.0.1:1", "nowhere", "auto"):
        with pytest.raises(EnvironmentProblem, match="cannot be reached") as caught:
            run(suite_of(), store, executor=RayExecutor(workers=1, address=address))
        assert "ray start" in caught.value.hint


def test_more_workers_than_requests_at_a_time_are_refused_for_each_would_have_one():
    suite = suite_of(limits={"openai": ProviderLimits(concurrency=2)})
    assert job_of(suite, workers=2).workers == 2
    with pytest.raises(WrongValueError, match="at most 2 workers"):
        job_of(suite, workers=3)


def test_a_tape_is_replayed_in_workers_as_in_this_process(store, tmp_path):
    (tmp_path / "rules.yaml").write_text("rules: [{when: {user: weather}, reply: {text: sunny}}]\n")
    path = tmp_path / "suite.yaml"
    case = "{name: a, input: weather, expect: [{contains: sunny}]}"
    path.write_text(f"agent: {{model: m}}\ntape: t.jsonl\nrepeat: 3\ncases: [{case}]\n")
    script = load_script(tmp_path / "rules.yaml")
    asyncio.run(record_suite(path, lambda: ScriptedModel(script, shared=True)))
    suite = load_suite(path, replay=True)
    here = without_times(run(suite, store))
    assert here["passed"]
    assert without_times(run(suite, store, executor=ProcessExecutor(workers=1))) == here
