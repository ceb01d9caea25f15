"""Mutation testing: are the tests of a package able to fail? `make mutants`; how to read it is in CONTRIBUTING.md.

mutmut's operators make the mutants. This file draws some by seed and runs, for each, the tests that execute its line.

How it works. `build/mutants/tree` is a copy of the project. A first run of the packages' own tests there notes which
test executes which line, and how long each takes. Then, one after another, a mutated file is written into the copy, a
process is forked off that has loaded everything but Soundstage, and pytest runs in it: the tests of the file's own
package first, the quick ones before the slow ones, up to the first failure. Programs that tests start import from the
copy too, unless the test gives them an environment of their own. A mutant in code that runs at import has the tests
that touch its file, and those of its package, as far as the time limit lets it.

A draw is the mutants with the smallest hashes of seed and mutant, so that a change elsewhere hardly changes it. Results
are kept in `build/mutants`; a run that was interrupted goes on. Kills stay valid while their file is as it was; with
`--fresh` everything is run again.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import dataclasses
import difflib
import functools
import hashlib
import importlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import libcst
import pytest
from coverage import Coverage, CoverageData
from libcst.metadata import MetadataWrapper
from mutmut.mutation.file_mutation import Mutation, MutationVisitor
from mutmut.mutation.mutators import mutation_operators
from mutmut.mutation.pragma_handling import get_ignored_lines

ROOT: Final = Path(__file__).resolve().parent.parent
WORK: Final = ROOT / "build" / "mutants"
TREE: Final = WORK / "tree"
KEPT: Final = ROOT / "tests" / "mutants.toml"
PACKAGES: Final = {
    "trace": ("tests/trace",),
    "match": ("tests/test_match.py", "tests/test_match_expression.py"),
    "models": ("tests/models",),
    "scripts": ("tests/scripts", "tests/models"),
    "journal": ("tests/journal",),
    "host": ("tests/host",),
}
OPTIONS: Final = (
    *("-q", "-x", "-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:pytest_cov"),
    *("-m", "not full", "--hypothesis-profile=fast", "-W", "ignore::pytest.PytestAssertRewriteWarning"),
)
TESTS_LIMIT: Final = 30.0  # seconds of tests, as the first run measured them, that one mutant may cost


@dataclasses.dataclass(frozen=True, order=True)
class Mutant:
    """One change, named so that it is found again when the lines around it move."""

    file: str  # below src/soundstage
    function: str  # where, or ""
    was: str
    now: str
    nth: int  # of those that read the same

    @property
    def id(self) -> str:
        """The mutant as text."""
        return json.dumps(dataclasses.astuple(self))

    def rank(self, seed: int) -> str:
        """Its place in the draw of a seed."""
        return hashlib.sha256(f"{seed} {self.id}".encode()).hexdigest()


def _one_line(text: str) -> str:
    return " ".join(text.split())


class _Visitor(MutationVisitor):
    """mutmut's, which leaves out decorated functions for the sake of its runner.

    Left out here are what only types see, and `__all__`, which tests/test_exports.py holds.
    """

    def __init__(self, path: Path, wrapper: MetadataWrapper) -> None:
        super().__init__(mutation_operators, get_ignored_lines(str(path), path.read_text(), wrapper, None))
        self.types: set[libcst.CSTNode] = set()

    def _skip_node_and_children(self, node: libcst.CSTNode) -> bool:
        if isinstance(node, libcst.Assign) and _called(node.targets[0].target) == "__all__":
            return True
        if isinstance(node, libcst.FunctionDef) and node.decorators:
            return any(_called(decorator.decorator) == "overload" for decorator in node.decorators)
        if isinstance(node, libcst.Call) and _called(node.func) in {"cast", "TypeVar", "ParamSpec"}:
            self.types.add(node.args[0].value)
        return node in self.types or super()._skip_node_and_children(node)

    def _create_mutations(self, node: libcst.CSTNode) -> None:
        if not (isinstance(node, libcst.Call) and _called(node.func) in {"cast", "TypeVar", "ParamSpec"}):
            super()._create_mutations(node)


def _called(node: libcst.CSTNode) -> str:
    return node.value if isinstance(node, libcst.Name) else ""


@functools.lru_cache(maxsize=1)
def _mutations(path: Path, name: str) -> tuple[libcst.Module, dict[Mutant, Mutation]]:
    wrapper = MetadataWrapper(libcst.parse_module(path.read_text()))
    visitor = _Visitor(path, wrapper)
    module = wrapper.visit(visitor)
    seen: Counter[tuple[str, str, str]] = Counter()
    made = {}
    for mutation in visitor.mutations:
        outer = mutation.contained_by_top_level_function
        function = outer.name.value if isinstance(outer, libcst.FunctionDef) else ""
        was = _one_line(module.code_for_node(mutation.original_node))
        now = _one_line(module.code_for_node(mutation.mutated_node))
        made[Mutant(name, function, was, now, seen[function, was, now])] = mutation
        seen[function, was, now] += 1
    return module, made


def _digest(paths: Iterable[Path]) -> str:
    together = hashlib.sha256()
    for path in paths:
        together.update(path.read_bytes())
    return together.hexdigest()


def _state(tested: Iterable[str]) -> str:
    places = [TREE / place for package in tested for place in PACKAGES[package]]
    tests = [
        path for place in places for path in (sorted(place.rglob("*.py")) if place.is_dir() else [place])
    ]
    return _digest([path for package in PACKAGES for path in _sources(package)] + tests)


def _sources(package: str) -> list[Path]:
    return sorted((TREE / "src" / "soundstage" / package).rglob("*.py"))


def all_mutants(packages: Iterable[str]) -> list[Mutant]:
    """Every mutant of the packages; the list of each file is kept until the file changes."""
    kept_at = WORK / "list.json"
    kept = json.loads(kept_at.read_text()) if kept_at.exists() else {}
    files = [path for package in packages for path in _sources(package)]
    for done, path in enumerate(files, 1):
        name, digest = str(path.relative_to(TREE / "src" / "soundstage")), _digest([path, Path(__file__)])
        if kept.get(name, {}).get("digest") != digest:
            print(f"\rlisting {done} of {len(files)} files", end="", file=sys.stderr)  # noqa: T201
            kept[name] = {"digest": digest, "mutants": [m.id for m in _mutations(path, name)[1]]}
            kept_at.write_text(json.dumps(kept))
    names = [str(path.relative_to(TREE / "src" / "soundstage")) for path in files]
    return [Mutant(*json.loads(text)) for name in names for text in kept[name]["mutants"]]


# -- what makes no difference


def kept_equivalents() -> dict[Mutant, str]:
    """The mutants of tests/mutants.toml, with the reason of each."""
    rows = tomllib.loads(KEPT.read_text()).get("equivalent", [])
    return {
        Mutant(row["file"], row.get("function", ""), row["was"], row["now"], row.get("nth", 0)): row["why"]
        for row in rows
    }


def is_wording(mutant: Mutant) -> bool:
    """Another case of, or marks around, a sentence for people: tests ask for names, values and next steps instead."""
    try:
        was, now = ast.literal_eval(mutant.was), ast.literal_eval(mutant.now)
    except (ValueError, SyntaxError):
        return False
    words = was.split() if isinstance(was, str) and isinstance(now, str) else []
    return len(words) > 2 or (len(words) == 2 and was.islower())


# -- runs of pytest in a fork


class _Chosen:
    """Runs the tests that are listed, in this order; notes how long each took and which failed."""

    def __init__(self, order: dict[str, int] | None, coverage: Coverage | None = None) -> None:
        self.order, self.coverage = order, coverage
        self.seconds: Counter[str] = Counter()
        self.failed: list[str] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if (order := self.order) is not None:
            items[:] = sorted((i for i in items if i.nodeid in order), key=lambda i: order[i.nodeid])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        if self.coverage is not None:
            self.coverage.switch_context(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration
        if report.failed:
            self.failed.append(report.nodeid)


def _default_signals() -> None:
    """Handle signals as a program does that was started at a terminal.

    `nohup`, and a shell's background, have some of them ignored, and tests wait for those.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _forked(work: Callable[[], int], limit: float, log: Path) -> int | None:
    """The exit code of `work` in a process of its own; None if it took longer than `limit` seconds."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        os.setsid()
        _default_signals()
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        code = 3
        try:
            code = work()
        finally:
            os._exit(code)
    descriptor = os.pidfd_open(child)
    try:
        ended = select.select([descriptor], [], [], limit)[0]
    finally:
        os.close(descriptor)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # with whatever its tests have left
        _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) if ended else None


def _pytest(arguments: Iterable[str], plugin: _Chosen) -> int:
    os.chdir(TREE)
    sys.path.insert(0, str(TREE / "src"))
    os.environ["PYTHONPATH"] = str(TREE / "src")
    return int(pytest.main([*OPTIONS, *arguments], plugins=[plugin]))


def _make_tree() -> None:
    """Bring the copy up to date; what has not changed keeps its compiled files."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    wanted = {name for name in listed if (ROOT / name).is_file()}
    for name in wanted:
        copy = TREE / name
        if not copy.exists() or copy.read_bytes() != (ROOT / name).read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy)
    for copy in [path for path in TREE.rglob("*.py") if str(path.relative_to(TREE)) not in wanted]:
        copy.unlink()


# -- the first run


@dataclasses.dataclass(frozen=True)
class Base:
    """The notes of the first run."""

    seconds: dict[str, float]
    failed: list[str]
    modules: list[str]
    lines: dict[str, dict[int, list[str]]]  # file -> line -> tests


def _first_run(package: str) -> int:
    at = WORK / f"{package}.coverage"
    at.unlink(missing_ok=True)
    included = [str(TREE / "src" / "soundstage" / name / "*") for name in PACKAGES]
    coverage = Coverage(data_file=str(at), config_file=False, include=included)
    plugin = _Chosen(None, coverage)
    coverage.start()
    sys.path.insert(0, str(TREE / "src"))
    for path in [
        path for name in PACKAGES for path in _sources(name)
    ]:  # so that no test seems to run what imports run
        importlib.import_module(".".join(path.relative_to(TREE / "src").with_suffix("").parts))
    code = _pytest([*PACKAGES[package], "--maxfail=1000"], plugin)
    coverage.stop()
    coverage.save()
    noted = {"seconds": plugin.seconds, "failed": plugin.failed, "modules": sorted(sys.modules)}
    (WORK / f"{package}.json").write_text(json.dumps(noted))
    return 0 if code in (0, 1) else code


def first_run() -> Base:
    """Run all tests of each package once, unless neither they nor the code have changed since."""
    whole = Base({}, [], [], {})
    for package in PACKAGES:
        mark, state = WORK / f"{package}.state", _state([package])
        if not mark.exists() or mark.read_text() != state:
            print(f"which test of {package} executes what", file=sys.stderr)  # noqa: T201
            code = _forked(functools.partial(_first_run, package), 3600, WORK / f"{package}.log")
            if code != 0:
                sys.exit(f"The tests of {package} did not run (code {code}); see {WORK / package}.log.")
            mark.write_text(state)
        noted = json.loads((WORK / f"{package}.json").read_text())
        whole.seconds.update(noted["seconds"])
        whole.failed.extend(noted["failed"])
        whole.modules.extend(noted["modules"])
        data = CoverageData(str(WORK / f"{package}.coverage"))
        data.read()
        for file in data.measured_files():
            lines = whole.lines.setdefault(str(Path(file).relative_to(TREE / "src" / "soundstage")), {})
            for line, tests in data.contexts_by_lineno(file).items():
                lines.setdefault(line, []).extend(tests)
    return whole


def _load(modules: Iterable[str]) -> None:
    """Import what the tests import, but Soundstage and the tests, so that a fork has it."""
    sys.path.insert(0, str(TREE / "tests"))
    ours = {"soundstage", "tests", "__main__", *(path.stem for path in (TREE / "tests").iterdir())}
    for name in modules:
        if name.partition(".")[0] not in ours:
            with contextlib.suppress(BaseException):  # what cannot be loaded early is loaded late
                importlib.import_module(name)
    sys.path.remove(str(TREE / "tests"))


# -- one mutant


def _statement(source: str, line: int) -> tuple[range, range]:
    """The lines of the statement at a line (without its body), and of the function around it."""
    inner, outer = range(line, line + 1), range(0)
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.stmt) or not node.lineno <= line <= (node.end_lineno or 0):
            continue
        body = getattr(node, "body", None)
        end = body[0].lineno - 1 if body else node.end_lineno or node.lineno
        if node.lineno <= line <= max(end, node.lineno):
            inner = range(node.lineno, max(end, node.lineno) + 1)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            outer = range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
    return inner, outer


def _tests_for(base: Base, mutant: Mutant, source: str, line: int) -> list[str]:
    """The tests worth running, in the order in which to run them; none if no test executes the line."""
    lines = base.lines.get(mutant.file, {})
    statement, function = _statement(source, line)
    found = {test for number in statement for test in lines.get(number, ())}
    at_import = not mutant.function or (not found - {""} and (found or line not in function))
    own = PACKAGES[mutant.file.partition("/")[0]]
    touching = {test for tests in lines.values() for test in tests}
    if at_import:  # a table may also be read by tests that run no line of its file
        found = touching | {test for test in base.seconds if test.startswith(own)}
    about = Path(mutant.file).stem.strip("_")
    chosen = sorted(
        found - {""} - set(base.failed),
        key=lambda t: (not t.startswith(own), about not in t, t not in touching, base.seconds.get(t, 0.0)),
    )
    spent, within = 0.0, []
    for test in chosen:
        spent += base.seconds.get(test, 0.0)
        if spent <= TESTS_LIMIT:
            within.append(test)
    return within


@dataclasses.dataclass(frozen=True)
class Result:
    """The fate of a mutant."""

    outcome: str  # killed, survived, timed out, no test covers
    line: int
    diff: str
    by: str
    tests: int


def try_mutant(base: Base, mutant: Mutant) -> Result:
    """Write the mutant into the copy, run its tests, put the file back."""
    name = f"src/soundstage/{mutant.file}"
    original = (TREE / name).read_text()
    module, made = _mutations(TREE / name, mutant.file)  # before it is mutated, and kept for the next one
    change = made[mutant]
    mutated = module.deep_replace(change.original_node, change.mutated_node).code  # type: ignore[arg-type]
    pairs = zip(original.splitlines(), mutated.splitlines(), strict=False)
    line = next((n for n, (old, new) in enumerate(pairs, 1) if old != new), 0)
    changed = difflib.unified_diff(original.splitlines(), mutated.splitlines(), lineterm="", n=1)
    diff = "\n".join(list(changed)[3:])
    tests = _tests_for(base, mutant, original, line)
    if not tests:
        return Result("no test covers", line, diff, "", 0)
    plugin = _Chosen({test: place for place, test in enumerate(tests)})
    by = WORK / "by"
    by.write_text("")

    def run() -> int:
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        code = _pytest(dict.fromkeys(test.partition("::")[0] for test in tests), plugin)
        by.write_text(plugin.failed[0] if plugin.failed else "")
        return code if plugin.seconds or code else 5

    copy = TREE / name
    for compiled in copy.parent.glob(f"__pycache__/{copy.stem}.*.pyc"):
        compiled.unlink()
    try:
        copy.write_text(mutated)
        code = _forked(run, 30 + 4 * sum(base.seconds.get(t, 0.0) for t in tests), WORK / "last.log")
    finally:
        copy.write_text(original)
    outcome = "timed out" if code is None else {0: "survived", 5: "no test covers"}.get(code, "killed")
    return Result(outcome, line, diff, by.read_text(), len(tests))


# -- the whole


def _known(path: Path, fresh: bool, state: str) -> dict[tuple[Mutant, str], Result]:  # noqa: FBT001
    """Results that still hold: all of this state of the code, and kills in files that are as they were."""
    known = {}
    for text in path.read_text().splitlines() if path.exists() else ():
        row = json.loads(text)
        result = Result(**row["result"])
        lasting = not fresh and result.outcome in {"killed", "timed out"}
        if row["state"] == state or lasting:
            known[Mutant(*json.loads(row["mutant"])), row["file"]] = result
    return known


def _draw(everything: list[Mutant], seed: int, count: int) -> list[Mutant]:
    """The drawn, file by file, so that each is parsed once."""
    return sorted(sorted(everything, key=lambda mutant: mutant.rank(seed))[:count])


def _run(mutants: list[Mutant], fresh: bool) -> Iterator[tuple[Mutant, Result]]:  # noqa: FBT001
    state, base = _state(PACKAGES), first_run()
    for test in base.failed:
        print(f"left out, it fails without a mutant: {test}", file=sys.stderr)  # noqa: T201
    _load(base.modules)
    at = WORK / "results.jsonl"
    known, began, done = _known(at, fresh, state), time.monotonic(), 0
    for place, mutant in enumerate(mutants):
        digest = _digest([TREE / "src" / "soundstage" / mutant.file])
        result = known.get((mutant, digest))
        if result is None:
            left = (time.monotonic() - began) / done * (len(mutants) - place) if done else 0
            print(f"\r{place} of {len(mutants)}, {left / 60:.0f} min left ", end="", file=sys.stderr)  # noqa: T201
            result, done = try_mutant(base, mutant), done + 1
            row = {
                "state": state,
                "file": digest,
                "mutant": mutant.id,
                "result": dataclasses.asdict(result),
            }
            with at.open("a") as lines:
                lines.write(json.dumps(row) + "\n")
        yield mutant, result
    print("\r", end="", file=sys.stderr)  # noqa: T201


def _stanza(mutant: Mutant) -> str:
    rows = {"file": mutant.file, "function": mutant.function, "was": mutant.was, "now": mutant.now}
    lines = ["[[equivalent]]", *(f"{key} = {json.dumps(value)}" for key, value in rows.items() if value)]
    return "\n".join([*lines, *([f"nth = {mutant.nth}"] if mutant.nth else [])])


def report(results: dict[Mutant, Result], equivalent: dict[Mutant, str]) -> None:
    """Print the survivors, and a table by package."""
    apart = {mutant for mutant in results if mutant in equivalent or is_wording(mutant)}
    for mutant, result in results.items():
        if result.outcome in {"survived", "no test covers"} and mutant not in apart:
            print(f"\nsrc/soundstage/{mutant.file}:{result.line} {result.outcome} ({result.tests} tests)")  # noqa: T201
            print(f"{result.diff}\n{_stanza(mutant)}")  # noqa: T201
    columns = ("killed", "timed out", "survived", "no test covers")
    heads = "".join(f"{column:>16}" for column in (*columns, "equivalent", "wording", "% killed"))
    print(f"\n{'':10}{heads}")  # noqa: T201
    for package in (*PACKAGES, ""):
        here = {m: r for m, r in results.items() if m.file.startswith(f"{package}/" if package else "")}
        counts = Counter(result.outcome for mutant, result in here.items() if mutant not in apart)
        same = sum(mutant in equivalent for mutant in here)
        words = sum(mutant in apart for mutant in here) - same
        caught = counts["killed"] + counts["timed out"]
        share = f"{100 * caught / max(1, counts.total()):.1f}"
        cells = [*(counts[column] for column in columns), same, words, share]
        print(f"{package or 'all':10}{''.join(f'{cell:>16}' for cell in cells)}")  # noqa: T201


def main() -> None:
    """Parse the arguments; draw; run; print."""
    parser = argparse.ArgumentParser(description="Draw mutants by seed and run the tests that execute them.")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--fresh", action="store_true", help="run again what was killed in an unchanged file")
    options: Any = parser.parse_args()
    os.nice(15)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended; run it again to go on"))
    WORK.mkdir(parents=True, exist_ok=True)
    _make_tree()
    everything, equivalent = all_mutants(PACKAGES), kept_equivalents()
    gone = sorted(set(equivalent) - set(everything))
    drawn = _draw(everything, options.seed, options.count)
    report(dict(_run(drawn, options.fresh)), equivalent)
    if gone:
        named = "\n\n".join(_stanza(mutant) for mutant in gone)
        sys.exit(f"\n{KEPT.relative_to(ROOT)} lists mutants that exist no longer; delete them:\n\n{named}")


if __name__ == "__main__":
    main()
