"""The `matrix` of a suite in a file: its dimensions, and what they stand for. Problems have their lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from soundstage.evals._combination import REPLACED
from soundstage.evals._errors import MatrixError
from soundstage.evals._matrix import Matrix, MatrixValue
from soundstage.scripts import SourceField, SourceNode, SourceReport, sorted_problems

MATRIX: Final = "matrix"
_OPTIONS: Final = ("skip", "only", "limit")
_OF_THE_SUITE: Final = (
    "agent",
    "script",
    "tape",
    "live",
    "workspace",
    "prompt",
)  # keys that a dimension gives
_MODELS: Final[tuple[str, ...]] = ("script", "tape", "live")
_LABELLED: Final = {"label", "value"}
Meaning = Callable[[SourceNode, str], Any]
"""The thing that the value of a dimension stands for; it gets the place of the value, for problems."""


def take_matrix(node: SourceNode, report: SourceReport) -> SourceNode | None:
    """The matrix of a suite, taken out of it. What a dimension gives stands in the suite as its first value.

    So the rest of the reader sees a whole suite, and knows nothing of matrices.

    Raises:
        MatrixError: if it is no mapping of lists, or gives what the suite has too.
    """
    field = node.fields.pop(MATRIX, None)
    if field is None:
        return None
    node.value = {key: value for key, value in node.value.items() if key != MATRIX}
    matrix = field.node
    if not isinstance(matrix.value, Mapping):
        report.add(field.line, MATRIX, "expected dimensions, each a list of values")
        raise MatrixError(sorted_problems(report))
    models = [name for name in _MODELS if name in matrix.fields]
    for name in models:
        others = [*(one for one in _MODELS if one in node.fields), *(one for one in models if one != name)]
        if others:
            line = matrix.fields[name].line
            report.add(
                line, f"{MATRIX}.{name}", f"models come from `{name}` or from `{others[0]}`, not from both"
            )
    if report.problems:
        raise MatrixError(sorted_problems(report))
    for name in _OF_THE_SUITE:
        if name in matrix.fields and matrix.fields[name].node.items:
            line = matrix.fields[name].line
            if name in node.fields:
                report.add(
                    line, f"{MATRIX}.{name}", f"the suite has `{name}` too; give it in one of the two places"
                )
            value, _ = _split(matrix.fields[name].node.items[0])
            node.fields[name] = SourceField(line, value)
            node.value = {**node.value, name: value.value}
    if report.problems:
        raise MatrixError(sorted_problems(report))
    return matrix


def read_matrix(matrix: SourceNode, report: SourceReport, meanings: Mapping[str, Meaning]) -> Matrix:
    """The matrix that a node describes.

    Args:
        matrix: the node.
        report: gets what is wrong.
        meanings: what values stand for, by the name of the dimension; others stand for themselves.

    Raises:
        MatrixError: with all that is wrong, each with its line.
    """
    options: dict[str, Any] = {name: matrix.value[name] for name in _OPTIONS if name in matrix.fields}
    dimensions = {
        name: _values(name, field.node, meanings.get(name))
        for name, field in matrix.fields.items()
        if name not in _OPTIONS
    }
    if not report.problems:
        try:
            return Matrix(**options, **dimensions)
        except MatrixError as error:
            raise report_matrix(error, matrix, report) from None
    raise MatrixError(sorted_problems(report))


def report_matrix(error: MatrixError, matrix: SourceNode, report: SourceReport) -> MatrixError:
    """The error of a matrix, with lines."""
    for problem in error.problems:
        name, _, rest = problem.key.removeprefix(f"{MATRIX}.").partition("[")
        line = matrix.line
        if name in matrix.fields:
            line, node = matrix.fields[name]
            if rest and int(rest[:-1]) < len(node.items):
                line = node.items[int(rest[:-1])].line
        report.add(line, problem.key, problem.message)
    return MatrixError(sorted_problems(report))


def _values(name: str, node: SourceNode, meaning: Meaning | None) -> Any:
    """The values of a dimension; what is no list is left to the matrix, which says so."""
    if not isinstance(node.value, list):
        return node.value
    found = []
    for number, item in enumerate(node.items):
        value, label = _split(item)
        key = f"{MATRIX}.{name}[{number}]"
        found.append(
            MatrixValue(meaning(value, key) if meaning else value.value, label or _label(name, value))
        )
    return found


def _split(item: SourceNode) -> tuple[SourceNode, str]:
    """A value, and its label if it is given one: `{label: short, value: "..."}`."""
    if isinstance(item.value, Mapping) and set(item.value) == _LABELLED:
        return item.fields["value"].node, str(item.value["label"])
    return item, ""


def _label(name: str, value: SourceNode) -> str:
    """The label of a value that stands for something else: the text that names it."""
    return value.value if name in REPLACED and isinstance(value.value, str) and len(value.value) <= 60 else ""
