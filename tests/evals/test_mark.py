"""The mark `eval` and suites as tests of pytest, in a pytest of their own."""

from __future__ import annotations

import json

import pytest
import sqlalchemy.dialects.sqlite  # noqa: F401  (a pytest in this process would load it twice)

import soundstage.evals._collected  # noqa: F401  (likewise, and then what is patched here is not what runs)
from soundstage.live import ProviderGate
from soundstage.runs import RunStore

pytest_plugins = ["pytester"]


@pytest.fixture
def outcome(pytester):
    """Run a test file, and say how it ended, how often the body ran, and what was told."""

    def run(mark, body, *options):
        pytester.makeini(
            "[pytest]\nfilterwarnings = error\naddopts = -p no:randomly -p no:cacheprovider -p no:xdist\n"
        )
        pytester.makepyfile(
            test_it=f"""
            import pathlib, pytest
            COUNT = pathlib.Path("count.txt")

            @pytest.fixture
            def number(tmp_path_factory):
                found = int(COUNT.read_text()) + 1 if COUNT.exists() else 1
                COUNT.write_text(str(found))
                return found

            @pytest.mark.eval({mark})
            def test_it(number):
                {body}
            """
        )
        result = pytester.runpytest_inprocess(*options)
        count = pytester.path / "count.txt"
        return result.parseoutcomes(), int(count.read_text()) if count.exists() else 0, result.stdout.str()

    return run


@pytest.mark.parametrize(
    ("mark", "body", "ended", "runs", "told"),
    [
        ("repeat=20, pass_rate=0.9", "pass", "passed", 12, ""),
        ("repeat=20, pass_rate=0.9", "assert False", "failed", 3, "failed after 3 runs, 0 passed"),
        ("repeat=9, pass_rate=0.9", "pass", "failed", 9, "3 more that pass or 5 more that fail would decide"),
        ("repeat=9, pass_rate=0.9, inconclusive='skip'", "pass", "skipped", 9, ""),
        ("repeat=40, pass_rate=0.9", "assert number != 2", "passed", 17, ""),
        ("repeat=40, pass_rate=0.9, error=0.2", "pass", "passed", 7, ""),
        ("repeat=40, pass_rate=0.9, bad_rate=0.5", "pass", "passed", 6, ""),
        ("repeat=5", "pass", "passed", 5, ""),
        ("5", "assert number < 3", "failed", 3, "run 3 failed, and every run has to pass"),
    ],
)
def test_a_marked_test_stops_when_its_runs_have_decided(outcome, mark, body, ended, runs, told):
    ends, count, text = outcome(mark, body)
    assert (ends, count) == ({ended: 1}, runs), text
    assert told in text


def test_the_failure_shows_the_rate_with_its_interval_and_the_last_run_that_failed(outcome):
    _, _, text = outcome("repeat=20, pass_rate=0.9", "assert number == 77")
    assert "0% [0%, 56%]; wanted 90%" in text
    assert "The last run that failed" in text
    assert "assert 3 == 77" in text


def test_each_run_has_fixtures_of_its_own(outcome):
    ends, count, _ = outcome("repeat=4", "assert number == int(COUNT.read_text())")
    assert (ends, count) == ({"passed": 1}, 4)


@pytest.mark.parametrize(
    "body",
    [
        "from soundstage.errors import ScriptError; raise ScriptError('the script is wrong')",
        "import pytest; pytest.skip('not here')",
    ],
)
def test_a_mistake_of_ours_and_a_skip_end_at_once_and_are_no_runs(outcome, body):
    ends, count, text = outcome("repeat=20, pass_rate=0.5", body)
    assert count == 1
    assert ends in ({"failed": 1}, {"skipped": 1})
    assert "more that" not in text


@pytest.mark.parametrize(
    ("mark", "told"),
    [
        ("repeat=20, pass_rate=1.0", "no number of runs can show a pass rate of 1.0"),
        ("repeat=0", "at least 1"),
        ("pass_rate=0.9", "takes a number of runs"),
        ("repeat=3, pass_rat=0.9", "did you mean 'pass_rate'"),
        ("repeat=3, pass_rate=1.5", "share"),
        ("repeat=3, pass_rate=0.9, bad_rate=0.95", "below the good one"),
        ("repeat=3, bad_rate=0.5", "goes with a `pass_rate`"),
        ("repeat=3, inconclusive='pass'", "'fail' or 'skip'"),
    ],
)
def test_a_mark_that_cannot_be_meant_so_is_refused_before_anything_runs(pytester, mark, told):
    pytester.makepyfile(
        test_it=f"import pytest\n@pytest.mark.eval({mark})\ndef test_it(): raise AssertionError('the body began')\n"
    )
    result = pytester.runpytest_inprocess("-p", "no:randomly", "-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert told in result.stderr.str()
    assert "the body began" not in result.stdout.str()


def test_an_asynchronous_test_with_a_model_is_repeated_with_a_new_stage_each_time(pytester):
    pytester.makepyfile(
        test_it="""
        import pytest
        from soundstage.messages import ModelRequest, user
        from soundstage.models import complete

        @pytest.fixture
        async def question():
            made.append(1)
            yield "weather"

        made, runs = [], []

        @pytest.mark.eval(repeat=3)
        async def test_it(script, model, journal, question):
            runs.append(1)
            assert len(made) == len(runs)
            script.on(user="weather", times=1).reply("sunny")
            reply = await complete(model, ModelRequest(model="m", messages=(user(question),)))
            assert reply.text == "sunny"
            assert sum(type(record.event).__name__ == "ModelRequested" for record in journal.read()) == 1
        """
    )
    pytester.runpytest_inprocess("-p", "no:randomly", "-p", "no:cacheprovider").assert_outcomes(passed=1)


RULES = "rules: [{when: {user: weather}, reply: {text: It is sunny.}}]\n"
SUITE = """\
agent: {model: openai/gpt-4.1}
script: rules.yaml
repeat: 3
cases:
  - {name: good, input: weather, expect: [{contains: sunny}]}
  - {name: bad, input: weather, expect: [{contains: rain}]}
"""


@pytest.fixture
def suite(pytester):
    (pytester.path / "rules.yaml").write_text(RULES)

    def run(text, *options):
        (pytester.path / "weather.eval.yaml").write_text(text)
        return pytester.runpytest_inprocess("-p", "no:randomly", "-p", "no:cacheprovider", *options)

    return run


def test_a_suite_in_a_file_is_a_test_for_each_case(suite):
    result = suite(SUITE)
    result.assert_outcomes(passed=1, failed=1)
    text = result.stdout.str()
    assert "FAILED  bad  0/3 = 0% of 100%" in text
    assert "the answer does not contain 'rain'" in text
    suite(SUITE, "weather.eval.yaml::good").assert_outcomes(passed=1)


def test_the_runs_of_a_suite_are_kept_where_those_of_tests_are(suite, pytester):
    suite(SUITE, "--soundstage-runs", "kept", "weather.eval.yaml::good")
    store = RunStore(pytester.path / "kept")
    assert [run.labels["case"] for run in store.list(driver="eval")] == ["good"] * 3
    store.close()


def test_a_suite_that_is_wrong_fails_its_collection_with_line_and_key(suite):
    result = suite(SUITE.replace("contains: sunny", "contians: sunny"))
    result.assert_outcomes(errors=1)
    assert "weather.eval.yaml:5: cases[0].expect[0].contians" in result.stdout.str()


def test_a_suite_that_needs_a_live_model_nobody_asked_for_is_skipped_with_the_reason(suite, monkeypatch):
    monkeypatch.delenv("SOUNDSTAGE_ALLOW_LIVE", raising=False)
    result = suite(SUITE.replace("script: rules.yaml\n", ""), "-rs")
    result.assert_outcomes(skipped=1)
    assert "SOUNDSTAGE_ALLOW_LIVE" in result.stdout.str()


def test_the_cases_of_a_file_share_the_budget_of_their_suite(suite):
    """Each run takes 5 tokens."""
    text = SUITE.replace("rain", "sunny").replace("repeat: 3", "repeat: 3\nbudget: {tokens: 22}")
    result = suite(text)
    result.assert_outcomes(passed=1, failed=1)
    assert "1/1, 2 missing" in result.stdout.str()
    assert "the budget of 22 tokens has no room for another run, after 20" in result.stdout.str()
    suite(text.replace("22", "30")).assert_outcomes(passed=2)
    result = suite(text.replace("tokens: 22", "seconds: 0.000001"))
    assert "the budget of 1e-06 seconds is spent by the cases before" in result.stdout.str()


def test_the_cases_of_a_file_share_the_gates_of_providers(suite, monkeypatch):
    entered = []

    class Gate(ProviderGate):
        async def enter(self, tokens):
            entered.append(self)
            await super().enter(tokens)

    monkeypatch.setattr("soundstage.evals._gates.ProviderGate", Gate)
    text = SUITE.replace("rain", "sunny").replace("repeat: 3", "repeat: 3\nlimits: {concurrency: 1}")
    suite(text).assert_outcomes(passed=2)
    assert len(entered) == 6
    assert len(set(map(id, entered))) == 1


EIGHT = SUITE + "".join(
    f"  - {{name: case{n}, input: weather, expect: [contains: sunny]}}\n" for n in range(6)
)


@pytest.mark.parametrize("processes", [(), ("-p", "xdist", "-n", "2")], ids=["one process", "xdist"])
def test_the_last_report_has_the_cases_of_all_processes_in_the_order_of_the_suite(pytester, processes):
    (pytester.path / "rules.yaml").write_text(RULES)
    (pytester.path / "early.eval.yaml").write_text(SUITE)
    (pytester.path / "weather.eval.yaml").write_text(EIGHT)
    options = ("-p", "no:randomly", "-p", "no:cacheprovider", "--soundstage-runs", "kept", *processes)
    result = pytester.runpytest_subprocess(*options)
    result.assert_outcomes(passed=8, failed=2)
    report = json.loads((pytester.path / "kept" / "evals" / "last-report.json").read_text())
    assert report["suite"] == "weather", "the suite that comes last"
    assert [case["name"] for case in report["cases"]] == ["good", "bad", *(f"case{n}" for n in range(6))]
    assert [len(case["runs"]) for case in report["cases"]] == [3] * 8
    assert (report["passed"], report["total"]["cases_passed"], report["total"]["runs"]) == (False, 7, 24)
    assert {one["outcome"] for one in report["cases"][1]["runs"]} == {"failed"}
    assert report["cases"][1]["runs"][0]["grades"][0]["reason"].startswith(
        "the answer does not contain 'rain'"
    )
