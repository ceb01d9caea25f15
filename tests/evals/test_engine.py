"""The engine: every run once, graded, kept; deterministic order, limits, resuming, errors apart from failures."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
import tempfile

import msgspec
import pytest

from soundstage.errors import ConfigError, UnknownNameError
from soundstage.evals import (
    Case,
    CommandAgent,
    FunctionAgent,
    ModelAgent,
    NamedEvaluator,
    evaluator_of,
    kept_report,
    run_suite,
)
from soundstage.journal import DaemonChanged
from soundstage.messages import ModelRequest, user
from soundstage.models import complete
from soundstage.runs import DiskFullError, StoreBusyError
from soundstage.trace import Finding

from .conftest import suite_of, without_times


def run(suite, store, **options):
    return asyncio.run(run_suite(suite, store=store, **options))


def outcomes(report):
    return {case.name: [one.outcome for one in case.runs] for case in report.cases}


NAMES = ("a", "b", "c")
ANY = NamedEvaluator("any", lambda run: True)
CASES = [Case(name=name, input=name, expect=(evaluator_of("contains", "b"),)) for name in NAMES]


def test_every_case_is_run_as_often_as_it_says_and_counted(store):
    cases = [*CASES[:2], msgspec.structs.replace(CASES[2], repeat=1, pass_rate=0.5)]
    report = run(suite_of(cases=cases, repeat=3), store)
    assert outcomes(report) == {"a": ["failed"] * 3, "b": ["passed"] * 3, "c": ["failed"]}
    assert [case.passed for case in report.cases] == [False, True, False]
    assert (report.passed, report.rate.passed, report.rate.runs) == (False, 3, 7)
    assert len(store.list(driver="eval")) == 7


def test_a_case_passes_at_its_pass_rate_and_not_below(store):
    answers = itertools.cycle(["b", "b", "x"])

    async def two_of_three(prompt):
        return next(answers)

    for rate, passed in ((2 / 3, True), (0.67, False)):
        suite = suite_of(two_of_three, cases=CASES[1:2], repeat=3, pass_rate=rate)
        assert run(suite, store).passed is passed


def test_the_order_of_a_report_is_that_of_the_suite_whatever_ends_first(store):
    """The first run waits until the last one is kept."""
    kept = asyncio.Event()
    ended = []

    async def agent(prompt):
        if prompt == "a":
            await kept.wait()
        return prompt

    def on_run(one):
        ended.append(one.case)
        if one.case == "c":
            kept.set()

    report = run(suite_of(agent, cases=CASES), store, concurrency=3, on_run=on_run)
    assert ended[-1] == "a"
    assert [case.name for case in report.cases] == list(NAMES)


@pytest.mark.parametrize("concurrency", [1, 3])
def test_so_many_runs_go_at_a_time_and_no_more(store, concurrency):
    running, most = 0, 0
    together = asyncio.Barrier(concurrency)

    async def agent(prompt):
        nonlocal running, most
        running += 1
        most = max(most, running)
        async with asyncio.timeout(30):
            await together.wait()
        for _ in range(50):  # one more would begin meanwhile
            await asyncio.sleep(0)
        running -= 1
        return prompt

    report = run(suite_of(agent, cases=CASES, repeat=3), store, concurrency=concurrency)
    assert (most, report.rate.runs) == (concurrency, 9)


def test_an_agent_in_process_asks_the_model_and_its_requests_are_in_the_kept_journal(store):
    async def agent(prompt, place):
        return (await complete(place.model, ModelRequest(model="m", messages=(user(prompt),)))).text

    cases = [
        Case(
            name="a",
            input="weather?",
            expect=(evaluator_of("contains", "sunny"), evaluator_of("model_requests", 1)),
        )
    ]
    report = run(suite_of(agent, cases=cases), store)
    (one,) = report.cases[0].runs
    assert (one.outcome, [grade.passed for grade in one.grades]) == ("passed", [True, True])
    stored = store.open(one.run)
    assert len(stored.trace().steps) == 1
    assert stored.record.labels["case"] == "a"


def test_a_model_alone_is_an_agent(store):
    cases = [Case(name="a", input="weather?", expect=(evaluator_of("equals", "It is sunny."),))]
    assert run(suite_of(agent=ModelAgent("m"), cases=cases), store).passed


def test_a_program_gets_the_input_its_files_and_the_model(store, tmp_path):
    (tmp_path / "agent.py").write_text(
        "import os, pathlib, sys\n"
        "assert os.environ['OPENAI_BASE_URL'].startswith('http://127.0.0.1')\n"
        "pathlib.Path('made.txt').write_text(sys.argv[1])\n"
        "print(pathlib.Path('given.txt').read_text())\n"
    )
    expect = tuple(
        evaluator_of(kind, spec)
        for kind, spec in {
            "equals": "given",
            "files_modified": ["made.txt"],
            "program": [sys.executable, "-c", "assert open('made.txt').read() == 'go'"],
        }.items()
    )
    cases = [Case(name="a", input="go", files={"given.txt": "given"}, expect=expect)]
    report = run(
        suite_of(agent=CommandAgent((sys.executable, "agent.py", "{input}"), tmp_path), cases=cases), store
    )
    assert outcomes(report) == {"a": ["passed"]}, report.cases[0].runs[0].reason


def test_a_program_that_fails_is_data_and_one_without_the_input_reads_it(store):
    code = "import sys; print(sys.stdin.read()); sys.exit(3)"
    suite = suite_of(agent=CommandAgent((sys.executable, "-c", code)))
    (one,) = run(suite, store).cases[0].runs
    assert one.outcome == "failed"
    assert "code 3" in one.reason
    assert run(suite_of(agent=CommandAgent((sys.executable, "-c", code), code=3)), store).passed


def test_an_agent_that_raises_has_failed_and_the_other_runs_go_on(store):
    async def agent(prompt):
        if prompt == "a":
            raise KeyError("no such thing")
        return "b"

    report = run(suite_of(agent, cases=CASES), store)
    assert outcomes(report) == {"a": ["failed"], "b": ["passed"], "c": ["passed"]}
    assert "KeyError" in report.cases[0].runs[0].reason


def test_an_agent_that_takes_too_long_is_ended_and_has_failed(store):
    async def agent(prompt):
        await asyncio.Event().wait()

    (one,) = run(suite_of(agent, timeout=0.05), store).cases[0].runs
    assert (one.outcome, one.reason) == ("failed", "the run was ended: timeout")


def test_a_broken_evaluator_is_an_error_and_no_failure_and_its_run_is_not_kept(store):
    def broken(run):
        raise ZeroDivisionError

    cases = [*CASES[1:2], Case(name="x", input="b", expect=(NamedEvaluator("broken", broken),))]
    report = run(suite_of(cases=cases), store)
    assert outcomes(report) == {"b": ["passed"], "x": ["error"]}
    assert (report.passed, report.rate.runs, len(report.errors)) == (False, 1, 1)
    assert "'broken' is broken" in report.errors[0].reason
    assert len(store.list(driver="eval")) == 1


def test_a_program_that_is_not_there_is_an_error_and_no_failure(store):
    report = run(suite_of(agent=CommandAgent(("no-such-program-anywhere",))), store)
    assert outcomes(report) == {"a": ["error"]}


def test_only_the_chosen_cases_run_and_an_unknown_one_is_refused(store):
    assert outcomes(run(suite_of(cases=CASES), store, only=["b"])) == {"b": ["passed"]}
    with pytest.raises(UnknownNameError, match="no case 'd'"):
        run(suite_of(cases=CASES), store, only=["d"])


@pytest.fixture
def ctrl_c():
    """Python's own handler of Ctrl-C, whatever an earlier test has left."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("stopped_after", range(1, 9))
def test_a_resumed_eval_repeats_no_run_and_its_report_is_that_of_an_undisturbed_one(store, stopped_after):
    """Interrupted after each number of kept runs, as by Ctrl-C."""
    made = []

    async def agent(prompt):
        made.append(prompt)
        return prompt

    suite = suite_of(agent, cases=CASES, repeat=3)
    kept = []

    def stop(one):
        kept.append((one.case, one.number))
        if len(kept) == stopped_after:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run(suite, store, on_run=stop, concurrency=2)
    early = kept_report(suite, store)
    before = {(case.name, one.number): one.run for case in early.cases for one in case.runs}
    assert set(kept) <= set(before)
    made.clear()
    report = run(suite, store, resume=True)
    assert len(made) == 9 - len(before)
    after = {(case.name, one.number): one.run for case in report.cases for one in case.runs}
    assert {key: after[key] for key in before} == before
    assert len(store.list(driver="eval")) == 9
    assert without_times(report) == without_times(run(suite, store))


def test_a_finished_eval_is_resumed_without_any_run(store):
    suite = suite_of(cases=CASES)
    first = run(suite, store)
    again = run(suite, store, resume=True)
    assert again == first


def test_without_resume_every_run_is_made_again(store):
    suite = suite_of()
    assert run(suite, store).eval != run(suite, store).eval
    assert len(store.list(driver="eval")) == 2


def test_a_suite_that_has_changed_is_not_resumed(store):
    run(suite_of(cases=CASES), store)
    with pytest.raises(ConfigError, match="has changed since"):
        run(suite_of(cases=CASES[:2]), store, resume=True)


def test_the_tool_that_only_failing_runs_call_is_named_with_two_runs_to_compare(store):
    from soundstage.journal import ToolCalled

    numbers = itertools.count()

    async def agent(prompt, place):
        failing = next(numbers) % 2 == 0
        place.journal.append(
            ToolCalled(call_id="1", name="delete" if failing else "read", arguments={"path": "a"})
        )
        return "x" if failing else "b"

    (case,) = run(suite_of(agent, cases=CASES[1:2], repeat=12, pass_rate=0.5), store).cases
    assert case.passed
    (found,) = [one for one in case.separating if "the tool delete" in one.features]
    failing, passing = (case.runs[place] for place in found.examples)
    assert (failing.outcome, passing.outcome) == ("failed", "passed")


def test_a_finding_of_a_trace_is_an_answer_of_an_evaluator(store):
    evaluator = NamedEvaluator("mine", lambda run: Finding(passed=run.output == "b", message="as it was"))
    report = run(suite_of(cases=[Case(name="x", input="b", expect=(evaluator,))]), store)
    assert report.cases[0].runs[0].grades[0].reason == "as it was"


def test_two_evals_of_one_suite_and_store_at_once_are_refused_with_the_process_that_holds_it(store):
    refused = []

    async def agent(prompt):
        try:
            await run_suite(suite, store=store)
        except StoreBusyError as error:
            refused.append(str(error))
        await run_suite(suite_of(cases=CASES, name="other"), store=store)
        await run_suite(suite_of(cases=CASES, name=suite.name), store=store, alone=False)
        return prompt

    suite = suite_of(agent)
    assert run(suite, store).passed
    (told,) = refused
    assert "the eval suite in the store" in told
    assert f"process {os.getpid()}, to run the eval suite" in told
    assert run(suite_of(), store).passed, "it is free again"


def test_runs_that_are_there_already_are_told_before_the_first_one_is_made(store):
    told = []
    for resume in (False, True):
        run(
            suite_of(cases=CASES),
            store,
            only=["a", "b"],
            resume=resume,
            on_begin=lambda *counts: told.append(counts),
        )
    assert told == [(0, 2), (2, 2)]


def test_an_error_of_the_store_is_raised_as_itself(store, monkeypatch):
    def full(*_, **__):
        raise DiskFullError("no space")

    monkeypatch.setattr(store, "save", full)
    with pytest.raises(DiskFullError):
        run(suite_of(), store)


def test_a_model_alone_is_on_no_port_and_everybody_else_is(store):
    ports = []

    async def agent(prompt, place):
        ports.append(place.server.url)
        return prompt

    run(suite_of(agent), store)
    assert ports[0].startswith("http://127.0.0.1:")
    cases = [Case(name="a", input="weather?", expect=(evaluator_of("equals", "It is sunny."),))]
    (one,) = run(suite_of(agent=ModelAgent("m"), cases=cases), store).cases[0].runs
    events = [record.event for record in store.open(one.run).journal()]
    assert {event.daemon for event in events if isinstance(event, DaemonChanged)} == {"workspace"}


def test_a_run_makes_a_folder_when_something_asks_for_it_and_not_before(store, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "made"))
    (tmp_path / "made").mkdir()
    seen = []

    def look(*_):
        seen.append(len(list((tmp_path / "made").iterdir())))
        return True

    async def untouched(prompt, place):
        look()
        return prompt

    async def writing(prompt, place):
        look()
        await asyncio.to_thread((place.workspace.root / "new.txt").write_text, "b")
        return prompt

    def in_thread(prompt, _):  # its folder is there already: the main thread handles signals
        look()
        return prompt

    def folder(run):
        return run.folder.is_dir() and look()

    looked, asked = NamedEvaluator("look", look), NamedEvaluator("folder", folder)
    cases = [
        Case(name="model", input="weather?", agent=ModelAgent("m"), expect=(looked,)),
        Case(name="untouched", input="b", agent=FunctionAgent(untouched), expect=(looked,)),
        Case(name="writing", input="b", agent=FunctionAgent(writing), expect=(looked,)),
        Case(name="thread", input="b", agent=FunctionAgent(in_thread), expect=(looked,)),
        Case(name="asked", input="weather?", agent=ModelAgent("m"), expect=(looked, asked)),
        Case(name="files", input="weather?", agent=ModelAgent("m"), files={"a.txt": "a"}, expect=(looked,)),
    ]
    report = run(suite_of(cases=cases), store, concurrency=1)
    assert report.passed, report
    assert seen == [0, 0, 0, 0, 1, 1, 1, 0, 1, 1]
    changed = {case.name: store.open(case.runs[0].run).result().files for case in report.cases}
    assert {name: [file.path for file in files] for name, files in changed.items() if files} == {
        "writing": ["new.txt"]
    }
    assert not list((tmp_path / "made").iterdir())


def test_what_nobody_has_thought_of_is_an_error_of_its_run_and_the_others_go_on(store, tmp_path):
    cases = [
        Case(name="broken", input="x", files={"a": "", "a/b": "below a file"}, expect=(ANY,)),
        Case(name="good", input="x", expect=(ANY,)),
    ]
    report = asyncio.run(run_suite(suite_of(cases=cases), store=store))
    assert [case.rate.runs for case in report.cases] == [0, 1]
    assert "it could not be made: NotADirectoryError" in report.errors[0].reason


def test_an_agent_that_ends_the_program_has_failed_and_the_others_go_on(store):
    def agent(prompt):
        if prompt == "end":
            sys.exit(3)
        return prompt

    cases = [Case(name=name, input=name, expect=(ANY,)) for name in ("end", "go")]
    report = asyncio.run(run_suite(suite_of(agent, cases=cases), store=store))
    assert [case.runs[0].outcome for case in report.cases] == ["failed", "passed"]
    assert "SystemExit: 3" in report.cases[0].runs[0].reason
