"""A program: forks processes that run `soundstage eval run`, kills each at a seeded moment, resumes, and looks.

A moment is an event that Python audits (a file is opened, a folder made, a socket bound, a program started, ...),
counted from the beginning of a phase: the start, until the first run has a folder of its own; the runs, with their
saving; the report. So a moment is in the middle of whatever the command does then. The command runs once before the
forks, so that all modules are loaded.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import traceback
from collections import Counter
from pathlib import Path

from soundstage.cli import main as command
from soundstage.lifecycle import _scratch
from soundstage.runs import RunStore

CASES, REPEAT = ("paris", "rome", "oslo"), 2
RUNS = {(case, number) for case in CASES for number in range(1, REPEAT + 1)}
SUITE = f"""\
agent: {{model: openai/gpt-4.1}}
script: rules.yaml
expect: [{{contains: sunny}}]
repeat: {REPEAT}
pass_rate: 0.5
cases:
  - {{name: paris, input: weather in Paris}}
  - {{name: rome, input: weather in Rome}}
  - {{name: oslo, input: weather in Oslo, expect: [{{contains: snow}}]}}
"""
RULES = "rules: [{when: {user: weather}, reply: {text: It is sunny.}}]\n"
PHASES = {"start": 8, "runs": 34, "report": 8}  # and how many kills each gets
MARKS = {"start": "", "runs": "soundstage-", "report": "/evals"}  # in the name of the folder that begins it
OWN = ("eval", "run", "seconds", "avg_latency")  # of each eval
FILES = ("last-report.json", "junit.xml", "summary.md")


class Moments:
    """Counts audited events by phase; at the one that is chosen, kills its process."""

    def __init__(self, chosen=None):
        self.phase, self.counts, self.chosen = "start", Counter(), chosen

    def __call__(self, event, arguments):
        if event == "os.mkdir":
            following = {"start": "runs", "runs": "report"}.get(self.phase)
            if following and MARKS[following] in str(arguments[0]):
                self.phase = following
        self.counts[self.phase] += 1
        if self.chosen == (self.phase, self.counts[self.phase]):
            self.chosen = None
            os.kill(os.getpid(), signal.SIGKILL)


def words_of(*more):
    files = ("--junit", FILES[1], "--markdown", FILES[2])
    return ["soundstage", "eval", "run", "../suite.yaml", "--concurrency", "2", *files, *more]


def warm_up(folder):
    """Run the command in this process, which loads all that it needs."""
    folder.mkdir()
    os.chdir(folder)
    sys.argv = words_of()
    try:
        command()
    except SystemExit as end:
        assert end.code == 1, end.code


def run(folder, *words, chosen=None):
    """Run the command in a process of its own: its exit code, its lines, and how many events each phase had."""
    reading, telling = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        out = os.open(folder / "out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.chdir(folder)
        _scratch._swept.clear()  # as in a process that was not forked
        moments, code = Moments(chosen), 70
        sys.argv = words_of(*words)
        sys.addaudithook(moments)
        try:
            command()
        except SystemExit as end:
            code = end.code or 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os.write(telling, json.dumps(moments.counts).encode())
            os._exit(code)
    os.close(telling)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code, (folder / "out").read_text(), json.loads(told or "{}")


def plain(value):
    """A report but for ids and times."""
    if isinstance(value, dict):
        return {
            key: "" if key in ("eval", "run", "seconds", "avg_latency") else plain(one)
            for key, one in value.items()
        }
    return [plain(one) for one in value] if isinstance(value, list) else value


def report(folder):
    return plain(json.loads((folder / ".soundstage/evals" / FILES[0]).read_text()))


def kept(folder):
    """The ids of the runs in a store, by case and number."""
    store = RunStore(folder / ".soundstage")
    found = [((one.labels["case"], int(one.labels["number"])), one.id) for one in store.list(driver="eval")]
    store.close()
    assert len(found) == len(dict(found)), f"a run is there twice: {sorted(found)}"
    return dict(found)


def told(lines):
    """Cases and numbers of the runs that the command has acknowledged."""
    words = [line.split("] ")[1].split() for line in lines.splitlines() if line.startswith("soundstage: [")]
    return {(case, int(number.rstrip(":"))) for case, _, number, *_ in words}


def one_kill(folder, chosen, wanted):
    """Kill at one moment, resume, look."""
    folder.mkdir()
    code, lines, _ = run(folder, chosen=chosen)
    assert code == -signal.SIGKILL, f"it was not killed at {chosen}, and ended with {code}:\n{lines}"
    before = kept(folder)
    assert told(lines) <= before.keys(), f"acknowledged, and lost: {told(lines) - before.keys()}"
    code, lines, _ = run(folder, "--resume")
    assert code == 1, f"after a kill at {chosen}, the resumed eval ended with {code}:\n{lines}"
    after = kept(folder)
    assert after.keys() == RUNS, f"after a kill at {chosen}, there are {sorted(after)}"
    assert before.items() <= after.items(), "a run that was there has been replaced"
    assert told(lines) == RUNS - before.keys(), "a run was repeated, or not told"
    assert report(folder) == wanted, f"after a kill at {chosen}, the report is another one"
    assert all((folder / name).exists() for name in FILES[1:])
    return len(before)


def main(root, seed):
    chosen = random.Random(seed)
    for name, text in {"suite.yaml": SUITE, "rules.yaml": RULES}.items():
        (root / name).write_text(text)
    warm_up(root / "warm")
    (root / "undisturbed").mkdir()
    code, lines, counts = run(root / "undisturbed")
    assert code == 1, lines
    wanted, found = report(root / "undisturbed"), []
    for phase, kills in PHASES.items():
        step = 0.9 * counts[phase] / kills  # runs at once differ a little
        for number in range(kills):
            moment = phase, 1 + int(step * (number + chosen.random()))
            found.append(one_kill(root / f"{phase}-{number}", moment, wanted))
    sys.stdout.write(
        f"{len(found)} kills, {sum(0 < one < len(RUNS) for one in found)} with some of the runs\n"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
