"""One suite of 200 cases, five runs of each: the same report, wherever it is asked for and runs are made.

The agent asks the model and fails at runs that its seed chooses. On workers, one of them is killed in the middle.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys

import pytest

from soundstage.evals import load_suite, run_suite
from soundstage.runs import RunStore
from support.postgres import PostgresServer, postgres_programs

CASES, REPEAT = 200, 5
AGENT = """
import os, signal
from soundstage.messages import ModelRequest, user
from soundstage.models import complete

async def agent(prompt, place):
    mark = os.environ.get("KILL_MARK", "")
    if mark and prompt.endswith(" 100"):
        try:
            open(mark, "x").close()
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    reply = await complete(place.model, ModelRequest(model="m", messages=(user(prompt),)))
    return reply.text if place.seed % 7 else "no idea"
"""
PYTHON = """
import asyncio, pathlib
from soundstage.evals import load_suite, run_suite
from soundstage.evals._baseline import write_last
from soundstage.runs import RunStore

def test_suite():
    store = RunStore("store")
    write_last(asyncio.run(run_suite(load_suite("weather.eval.yaml"), store=store)), store.root)
"""
SUITE = """
version: 1
name: weather
agent: {python: "weather_agent:agent"}
script: rules.yaml
repeat: 5
pass_rate: 0.2
cases: cases.jsonl
expect: [{contains: sunny}, {model_requests: 1}]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("suite")
    (made / "weather_agent.py").write_text(AGENT)
    (made / "weather.eval.yaml").write_text(SUITE)
    (made / "test_weather.py").write_text(PYTHON)
    (made / "rules.yaml").write_text("rules:\n  - when: {user: weather}\n    reply: It is sunny.\n")
    lines = (json.dumps({"name": f"c{n}", "input": f"weather {n}"}) for n in range(CASES))
    (made / "cases.jsonl").write_text("\n".join(lines) + "\n")
    return made


def plain(report):
    """A report but for times and ids."""
    report["eval"] = ""
    for case in report["cases"]:
        case["avg_latency"] = 0
        for one in case["runs"]:
            one["run"], one["seconds"] = "", 0
    return report


@pytest.fixture(scope="module")
def expected(folder, tmp_path_factory):
    """The report of this process, from Python."""
    store = RunStore(tmp_path_factory.mktemp("here"))
    report = asyncio.run(run_suite(load_suite(folder / "weather.eval.yaml"), store=store))
    store.close()
    found = plain(json.loads(json.dumps(report.as_json())))
    assert (found["total"]["runs"], found["total"]["errors"]) == (CASES * REPEAT, 0)
    assert 0.7 < found["total"]["pass_rate"] < 0.95
    return found


EVAL = (sys.executable, "-m", "soundstage.cli", "eval", "run", "weather.eval.yaml", "--store", "store")
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--soundstage-runs", "store")


@pytest.mark.parametrize(
    ("command", "killed"),
    [
        pytest.param(EVAL, False, id="yaml"),
        pytest.param((*PYTEST, "weather.eval.yaml"), False, id="pytest, a suite in a file"),
        pytest.param((*PYTEST, "test_weather.py"), False, id="pytest, a test in Python"),
        pytest.param((*EVAL, "--executor", "processes", "--workers", "2"), True, id="processes"),
        pytest.param((*EVAL, "--executor", "ray", "--workers", "2"), True, id="ray"),
    ],
)
def test_a_thousand_runs_give_the_same_report(folder, expected, command, killed, tmp_path, request):
    words = [str(tmp_path / "store") if word == "store" else word for word in command]
    mark = tmp_path / "killed"
    environment = {**os.environ, "KILL_MARK": str(mark) if killed else ""}
    test = folder / "test_weather.py"
    test.write_text(PYTHON.replace('"store"', repr(str(tmp_path / "store"))))
    done = subprocess.run(words, cwd=folder, env=environment, check=False, capture_output=True, text=True)
    report = json.loads((tmp_path / "store/evals/last-report.json").read_text())
    assert plain(report) == expected, done.stdout[-2000:] + done.stderr[-2000:]
    assert done.returncode == (0 if expected["passed"] else 1)
    assert mark.exists() is killed
    store = RunStore(tmp_path / "store")
    kept = store.list(driver="eval")
    assert len(kept) == len({(one.labels["case"], one.labels["number"]) for one in kept}) == CASES * REPEAT
    assert any(one.warnings for one in kept) is killed
    store.close()


def test_two_machines_keep_their_runs_in_one_store_whose_index_is_on_postgresql(folder, tmp_path):
    programs = postgres_programs()
    if programs is None:
        pytest.skip("there is no PostgreSQL server: apt-get install postgresql")
    with PostgresServer(programs) as server:
        environment = {**os.environ, "SOUNDSTAGE_RUNS_INDEX": server.url}
        command = [str(tmp_path / "store") if word == "store" else word for word in EVAL]
        suites = {"one": "c1", "two": "c2"}
        for name in suites:
            text = SUITE.replace("name: weather", f"name: {name}")
            (folder / f"{name}.yaml").write_text(text)
        running = [
            subprocess.Popen(
                [word.replace("weather.eval", name) for word in [*command, "--case", case]],
                cwd=folder,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for name, case in suites.items()
        ]
        assert [one.wait() for one in running] == [0, 0]
        assert not list((tmp_path / "store").glob("*.db"))
        with_index = RunStore(tmp_path / "store", index=server.url)
        for name, case in suites.items():
            found = with_index.list(driver="eval", labels={"suite": name})
            assert [one.labels["case"] for one in found] == [case] * REPEAT
        with_index.close()
