"""`soundstage eval run`: the smallest suite as it stands, exit codes, files, Ctrl-C, and resuming after a kill."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

AGENT = """\
import json, os, sys, urllib.request

messages = [{"role": "user", "content": sys.argv[1]}]
tool = {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
while True:
    body = {"model": "gpt-4.1", "messages": messages, "tools": [{"type": "function", "function": tool}]}
    headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    reply = json.load(urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)))
    messages.append(reply["choices"][0]["message"])
    if not messages[-1].get("tool_calls"):
        break
    for call in messages[-1]["tool_calls"]:
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": "sunny"})
print(messages[-1]["content"])
"""
RULES = """\
rules:
  - when: {tool_result: sunny}
    reply: {text: "It is sunny."}
  - when: {user: weather}
    reply:
      tool_calls: [{name: get_weather, arguments: {city: Paris}}]
"""
SMALLEST = """\
version: 1
agent: {command: ["python", "agent.py", "{input}"]}
script: rules.yaml
repeat: 5
cases:
  - name: paris
    input: "weather in Paris"
    expect:
      - contains: sunny
      - tool: get_weather
      - cost: {at_most: 0.01}
"""
ALONE = """\
agent: {model: openai/gpt-4.1}
script: alone-rules.yaml
expect: [{contains: sunny}]
repeat: 6
cases:
  - {name: paris, input: weather in Paris}
  - {name: rome, input: weather in Rome}
  - {name: oslo, input: weather in Oslo, expect: [{contains: snow}], pass_rate: 0.5}
"""


@pytest.fixture
def folder(tmp_path):
    for name, text in {
        "agent.py": AGENT,
        "rules.yaml": RULES,
        "suite.yaml": SMALLEST,
        "alone.yaml": ALONE,
    }.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "alone-rules.yaml").write_text(
        "rules: [{when: {user: weather}, reply: {text: It is sunny.}}]\n"
    )
    return tmp_path


def begin(folder, *words):
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return subprocess.Popen(
        [sys.executable, "-m", "soundstage.cli", "eval", "run", *words],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(folder, *words):
    process = begin(folder, *words)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def report_of(folder):
    """The last report, but for times and ids."""
    data = json.loads((folder / ".soundstage" / "evals" / "last-report.json").read_text())
    data["eval"] = ""
    for case in data["cases"]:
        case["avg_latency"] = 0
        for one in case["runs"]:
            one["run"], one["seconds"] = "", 0
            for grade in one["grades"]:
                if grade["evaluator"].startswith("latency"):
                    grade["score"] = 0
    return data


def test_the_smallest_suite_runs_as_it_stands(folder):
    code, out, err = run(folder, "suite.yaml")
    assert code == 0, out + err
    assert "passed  paris  5/5 = 100% [57%, 100%]" in out
    assert "[5/5] paris run" in err
    (case,) = report_of(folder)["cases"]
    assert (case["pass_rate"], case["avg_tokens"] > 0, len(case["runs"])) == (1.0, True, 5)
    assert all(one["cost"] > 0 for one in case["runs"])


def test_a_case_below_its_pass_rate_ends_with_1_and_all_files_say_so(folder):
    code, out, err = run(
        folder, "alone.yaml", "--repeat", "2", "--junit", "junit.xml", "--markdown", "summary.md"
    )
    assert code == 1, out + err
    assert "FAILED  oslo   0/2 = 0% of 50%" in out
    assert "run 1: failed: the answer does not contain 'snow'" in out
    root = ET.parse(folder / "junit.xml").getroot()
    assert [(case.get("name"), len(case.findall("failure"))) for case in root.iter("testcase")] == [
        ("paris", 0),
        ("rome", 0),
        ("oslo", 1),
    ]
    table = (folder / "summary.md").read_text()
    assert "| ✅ paris | 2/2 | 100% |" in table
    assert "| ❌ oslo | 0/2 | 0% |" in table
    assert report_of(folder)["passed"] is False


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["suite.yaml", "--case", "lyon"], "no case 'lyon'"),
        (["nothing.yaml"], "nothing.yaml"),
        (["bad.yaml"], "bad.yaml:3: cases[0].expect[0].contians"),
        (["suite.yaml", "--repeat", "0"], "--repeat"),
        (["suite.yaml", "--replay"], "suite.yaml:1: tape: there is no recording to replay"),
        (["suite.yaml", "--model", "gpt-4.1"], "--model takes PROVIDER/MODEL"),
        (["suite.yaml", "--base-url", "http://127.0.0.1:1"], "--base-url says where"),
        (["suite.yaml", "--model", "openai/gpt-4.1", "--replay"], "leave --model out"),
        (["suite.yaml", "--model", "opnai/gpt-4.1"], "openai"),
        (["suite.yaml", "--model", "openai/gpt-4.1"], "live calls are not allowed here"),
        (["suite.yaml", "--max-cost", "0"], "above 0"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_where(folder, words, told):
    (folder / "bad.yaml").write_text(
        "agent: {model: m}\nscript: rules.yaml\ncases: [{input: x, expect: [{contians: y}]}]\n"
    )
    code, _, err = run(folder, *words)
    assert (code, told in err) == (2, True), err
    assert not (folder / ".soundstage").exists()


def test_runs_that_could_not_be_made_end_with_2(folder):
    (folder / "suite.yaml").write_text(SMALLEST.replace('"python"', '"no-such-program"'))
    code, out, _ = run(folder, "suite.yaml", "--repeat", "1")
    assert code == 2
    assert "1 run with errors" in out


def after(process, runs):
    """Wait until so many runs have been told."""
    for line in process.stderr:
        if f"[{runs}/" in line:
            return


@pytest.mark.parametrize("seed", range(4))
def test_an_eval_that_was_killed_goes_on_where_it_was_and_repeats_nothing(folder, seed):
    """Killed right behind a run that was told, which is a different one for each seed."""
    from soundstage.runs import RunStore

    process = begin(folder, "alone.yaml", "--concurrency", "2")
    after(process, random.Random(seed).randint(1, 17))
    process.kill()
    process.communicate()
    store = RunStore(folder / ".soundstage")
    kept = {run.id for run in store.list(driver="eval")}
    assert len(kept) > 0
    code, _, err = run(folder, "alone.yaml", "--resume")
    assert code == 1, err
    runs = store.list(driver="eval")
    assert kept <= {run.id for run in runs}
    assert len({(run.labels["case"], run.labels["number"]) for run in runs}) == len(runs) == 18
    resumed = report_of(folder)
    assert run(folder, "alone.yaml")[0] == 1
    assert resumed == report_of(folder)
    store.close()


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(folder):
    process = begin(folder, "alone.yaml", "--concurrency", "1")
    after(process, 3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "soundstage eval run alone.yaml --concurrency 1 --resume" in err
    assert "missing" in out
    done = sum(len(case["runs"]) for case in report_of(folder)["cases"])
    assert 3 <= done < 18
    code, _, err = run(folder, "alone.yaml", "--resume")
    assert code == 1
    assert err.count(": passed") + err.count(": failed") == 18 - done


def test_a_tape_answers_in_the_place_of_a_script(folder):
    """Recorded by our own command, from our own server; then the tape answers every run, and nobody else is there."""
    words = [sys.executable, "-m", "soundstage.cli"]
    server = subprocess.Popen(
        [*words, "serve", "--script", "rules.yaml"], cwd=folder, stdout=subprocess.PIPE, text=True
    )
    try:
        url = server.stdout.readline().split()[-1]
        program = [sys.executable, "agent.py", "weather in Paris"]
        recording = ["record", "--tape", "weather.tape", "--upstream", f"openai={url}/v1", "--", *program]
        environment = {**os.environ, "OPENAI_API_KEY": "not-a-real-key"}
        subprocess.run([*words, *recording], cwd=folder, env=environment, check=True, capture_output=True)
    finally:
        server.terminate()
        server.communicate()
    (folder / "suite.yaml").write_text(SMALLEST.replace("script: rules.yaml", "tape: weather.tape"))
    code, out, err = run(folder, "suite.yaml", "--repeat", "2")
    assert code == 0, out + err
    (folder / "suite.yaml").write_text(
        SMALLEST.replace("script: rules.yaml", "tape: weather.tape").replace("in Paris", "in Rome")
    )
    code, out, err = run(folder, "suite.yaml", "--repeat", "1")
    assert code == 1, "another question is not on the tape:\n" + out + err
    (folder / "suite.yaml").write_text(
        SMALLEST.replace("script: rules.yaml", "tape: weather.tape\nlive: openai/gpt-4.1")
    )
    code, out, err = run(folder, "suite.yaml", "--repeat", "2", "--replay")
    assert code == 0, out + err
    assert "replayed from weather.tape: no provider was asked, and no token spent" in out
    assert report_of(folder)["replayed"] == "weather.tape"
    code, _, err = run(folder, "suite.yaml", "--repeat", "1")
    assert (code, "live calls are not allowed here" in err) == (2, True), "without --replay it is live"


def test_runs_that_the_budget_has_left_out_are_told_and_no_pass(folder):
    code, out, err = run(folder, "alone.yaml", "--case", "paris", "--max-cost", "0.0001")
    assert code == 1, out + err
    done = report_of(folder)["cases"][0]["runs"]
    assert 1 <= len(done) < 6
    assert f"{6 - len(done)} of 6 runs are left out: the budget of 0.0001 dollars has no room" in out
    assert sum(one["cost"] for one in done) <= 0.0001
    (folder / "alone.yaml").write_text(ALONE.replace("openai/gpt-4.1", "house/model-7b"))
    code, out, err = run(folder, "alone.yaml", "--max-cost", "1")
    assert (code, "'model-7b' has no price" in err) == (2, True), out + err
