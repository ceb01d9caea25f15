"""Script files, whatever they script: YAML or JSON to data with lines, Python to the script that it defines.

What is wrong with a file is a problem with its line, and all of them are told at once.
"""

from __future__ import annotations

import contextlib
import runpy
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from soundstage.errors import ScriptError, ScriptLoadError, ScriptProblem
from soundstage.scripts._source import SourceNode, SourceReport, read_source
from soundstage.scripts._words import in_one_line, in_words

VERSION: Final = 1
FORMS: Final = {".yaml": "yaml", ".yml": "yaml", ".json": "json"}
S = TypeVar("S")


def read_source_file(path: Path, report: SourceReport, *, others: Sequence[str] = ()) -> SourceNode | None:
    """The data of a YAML or JSON file, or nothing; `report` then knows why.

    Args:
        path: the file; its ending says which of the two it is.
        report: gets every problem.
        others: endings that the caller takes besides, for the message.
    """
    form = FORMS.get(path.suffix.lower())
    if form is None:
        kinds = ", ".join([*FORMS, *others])
        report.add(0, "", f"expected a file that ends in one of {kinds}, got {path.suffix or 'no ending'}")
        return None
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        report.add(0, "", f"the file cannot be read: {error.strerror or error}")
    except UnicodeDecodeError as error:
        report.add(0, "", f"the file is not UTF-8: {error.reason} at byte {error.start}")
    else:
        return read_source(text, report, form=form)
    return None


def shown(path: Path) -> str:
    """A path as messages and journals give it: the same on every machine, where it is below this folder."""
    absolute = path.absolute()
    return str(absolute.relative_to(Path.cwd()) if absolute.is_relative_to(Path.cwd()) else path)


def right_version(node: SourceNode, report: SourceReport) -> bool:
    """Whether this form is known; if not, nothing else can be said about the file."""
    field = node.fields.get("version")
    if field is None or (type(field.node.value) is int and field.node.value == VERSION):
        return True
    report.add(
        field.node.line,
        "version",
        f"this Soundstage reads version {VERSION}, got {in_words(field.node.value)}",
    )
    return False


def sorted_problems(report: SourceReport) -> tuple[ScriptProblem, ...]:
    """The problems, by their lines."""
    return tuple(sorted(report.problems, key=lambda problem: problem.line))


@contextlib.contextmanager
def reporting(report: SourceReport, node: SourceNode, key: str) -> Iterator[None]:
    """Turn errors of the script's parts into problems of this line."""
    try:
        yield
    except ScriptError as error:
        report.add(node.line, key, in_one_line(error))


def report_conditions(
    when: SourceNode, key: str, report: SourceReport, compiled: Callable[[str, Any], object]
) -> None:
    """Find expressions that are none; types have been checked by then, and their problems are known.

    Args:
        when: the conditions by name.
        key: where they are.
        report: gets what is wrong.
        compiled: makes a condition of a name and what is written there.
    """
    known = {problem.key for problem in report.problems}
    for name, (_, part) in when.fields.items():
        if f"{key}.{name}" not in known:
            with reporting(report, part, f"{key}.{name}"):
                compiled(name, part.value)


def items_of(node: SourceNode, name: str) -> list[SourceNode]:
    """The elements of a list of a mapping; none if it is not there."""
    return node.fields[name].node.items if name in node.fields else []


def line_of(node: SourceNode, key: str) -> int:
    """The line of a key such as `cases[2].name`, or of the nearest thing around it."""
    line, here = node.line, node
    for step in key.replace("[", ".[").split("."):
        if step.startswith("["):
            number = int(step[1:-1])
            if number >= len(here.items):
                break
            here = here.items[number]
            line = here.line
        elif step in here.fields:
            line, here = here.fields[step]
        else:
            break
    return line


def read_json_lines(text: str, report: SourceReport) -> list[tuple[int, SourceNode]]:
    """The data of JSON Lines with the number of each line; empty lines are left out.

    Args:
        text: the whole file.
        report: gets every problem, with the line in the file.
    """
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        own = SourceReport(report.source)
        node = read_source(line, own, form="json") if line.strip() else None
        if node is not None:
            found.append((number, node))
        for problem in own.problems:
            report.add(number, problem.key, problem.message)
    return found


def where(report: SourceReport, node: SourceNode) -> str:
    """`file:line` of a rule; empty for data that has no lines."""
    return f"{report.source}:{node.line}" if node.line else ""


def load_python(path: Path | str, kind: type[S]) -> S:
    """The `script` that a Python file defines.

    Raises:
        ScriptLoadError: if the file fails, or defines no such script.
    """
    source = shown(Path(path))
    try:
        names = runpy.run_path(str(path), run_name="soundstage_script")
    except ScriptLoadError:
        raise
    except OSError as error:
        raise _refused(source, 0, f"the file cannot be read: {error.strerror or error}") from None
    except SyntaxError as error:
        raise _refused(source, error.lineno or 0, f"this is not Python: {error.msg}") from error
    except (Exception, SystemExit) as error:
        raise _refused(source, _line_in(path, error), _failure(error)) from error
    script = names.get("script")
    if not isinstance(script, kind):
        got = f"got {in_words(script)}" if "script" in names else "got no such name"
        raise _refused(source, 0, f"expected `script`, a {kind.__name__}; {got}")
    return script


def _failure(error: BaseException) -> str:
    return in_one_line(error) if isinstance(error, ScriptError) else f"{type(error).__name__}: {error}"


def _line_in(path: Path | str, error: BaseException) -> int:
    """The last line of the file that was at work when it failed."""
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno or 0 for frame in reversed(frames) if frame.filename == str(path)), 0)


def _refused(source: str, line: int, message: str) -> ScriptLoadError:
    return ScriptLoadError([ScriptProblem(source, line, "", message)])
