"""A matrix: every combination of the values of some dimensions, with labels, without those that are skipped."""

from __future__ import annotations

import functools
import inspect
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final, TypeVar

import msgspec

from soundstage.errors import ScriptProblem, did_you_mean
from soundstage.evals._errors import MatrixError

LIMIT: Final = 256
Choice = Mapping[str, Any]
"""Labels by dimension; a list of labels means any of them."""
F = TypeVar("F", bound=Callable[..., Any])


class MatrixValue(msgspec.Struct, frozen=True):
    """A value of a dimension. Values without one get a label of their own.

    Args:
        value: the value; of no use if it is made.
        label: how names and tables call it.
        make: makes the value for each run; see `made_by`.
    """

    value: Any
    label: str = ""
    make: Callable[[], Any] | None = None


def labelled(label: str, value: Any) -> MatrixValue:
    """A value with a label.

    Example:
        >>> Matrix(prompt=[labelled("short", "Answer in a word: {input}")]).cells[0].name
        'prompt=short'
    """
    return MatrixValue(value, label)


def made_by(make: Callable[[], Any], label: str = "") -> MatrixValue:
    """A value that each run makes for itself: by an asynchronous function, or by an asynchronous context manager.

    Args:
        make: takes nothing; its awaited result, or that of entering its context, is the value. The context is left when
            the run is over.
        label: how names and tables call it; the name of the function unless given.
    """
    return MatrixValue(None, label or getattr(make, "__name__", ""), make)


class MatrixCell(msgspec.Struct, frozen=True):
    """One combination.

    Args:
        values: by dimension.
        skipped: why it is not run; empty if it is.
    """

    values: Mapping[str, MatrixValue]
    skipped: str = ""

    @property
    def labels(self) -> dict[str, str]:
        """Labels by dimension."""
        return {name: value.label for name, value in self.values.items()}

    @property
    def name(self) -> str:
        """Dimensions and labels: `model=small, prompt=short`."""
        return ", ".join(f"{name}={label}" for name, label in self.labels.items())


class Matrix:
    """Every combination of some values, in the order of the product: the last dimension changes first.

    Args:
        skip: combinations that are not run: labels by dimension, or several such choices.
        only: if given, all others are not run.
        limit: combinations at most, the skipped ones too.
        dimensions: lists of values by name. `labelled` gives a value a label, `made_by` makes one for each run.

    Raises:
        MatrixError: for no dimension, one that is no list or is empty, two values of one label, a choice of a label
            that there is not, more combinations than the limit, or none that is run. Also a `ValueError`.

    Example:
        >>> matrix = Matrix(model=["small", "large"], tools=["on", "off"], skip={"model": "small", "tools": "off"})
        >>> [cell.name for cell in matrix.cells]
        ['model=small, tools=on', 'model=large, tools=on', 'model=large, tools=off']
    """

    def __init__(
        self,
        *,
        skip: Choice | Sequence[Choice] = (),
        only: Choice | Sequence[Choice] = (),
        limit: int = LIMIT,
        **dimensions: Sequence[Any],
    ) -> None:
        problems: list[tuple[str, str]] = []
        if not dimensions:
            problems.append(("", "expected at least one dimension, got none"))
        if type(limit) is not int or limit < 1:
            problems.append(("limit", f"expected a number of combinations, at least 1, got {limit!r}"))
        self.dimensions = {name: _values(name, values, problems) for name, values in dimensions.items()}
        chosen = {
            key: _choices(key, given, self.dimensions, problems)
            for key, given in (("skip", skip), ("only", only))
        }
        size = math.prod(map(len, self.dimensions.values()))
        if not problems and size > limit:
            sizes = " x ".join(str(len(values)) for values in self.dimensions.values())
            problems.append(
                (
                    "limit",
                    f"{sizes} = {size:,} combinations, at most {limit} are allowed; raise `limit` if meant so",
                )
            )
        if problems:
            raise matrix_error(problems)
        self._all = [self._cell(values, **chosen) for values in itertools.product(*self.dimensions.values())]
        if not self.cells:
            raise matrix_error([("skip", "all combinations are skipped")])

    @property
    def cells(self) -> tuple[MatrixCell, ...]:
        """The combinations that are run."""
        return tuple(cell for cell in self._all if not cell.skipped)

    @property
    def skipped(self) -> tuple[MatrixCell, ...]:
        """The combinations that are not run."""
        return tuple(cell for cell in self._all if cell.skipped)

    def _cell(
        self, values: Sequence[MatrixValue], skip: Sequence[Choice], only: Sequence[Choice]
    ) -> MatrixCell:
        cell = MatrixCell(dict(zip(self.dimensions, values, strict=True)))
        why = ""
        if only and not any(_fits(cell, choice) for choice in only):
            why = "it is not one of `only`"
        elif any(_fits(cell, choice) for choice in skip):
            why = "it is one of `skip`"
        return MatrixCell(cell.values, why)

    def parametrize(self, function: F) -> F:
        """Run a test with every combination; its arguments are the dimensions. Those that are not run are skipped.

        Raises:
            MatrixError: for a dimension that the test does not take, or values that are made for a test that is not
                asynchronous.

        Example:
            ::

                @Matrix(city=["Paris", "Rome"], style=["short", "long"]).parametrize
                async def test_it_is_sunny(city, style): ...
        """
        import pytest

        takes = inspect.signature(function).parameters
        made = any(value.make for values in self.dimensions.values() for value in values)
        problems = [(name, "the test has no such argument") for name in self.dimensions if name not in takes]
        if made and not inspect.iscoroutinefunction(function):
            problems.append(("", "values that are made for each run need an asynchronous test"))
        if problems:
            raise matrix_error(problems)
        parameters = [
            pytest.param(
                *(value if made else value.value for value in cell.values.values()),
                id="-".join(cell.labels.values()),
                marks=[pytest.mark.skip(reason=f"{cell.name}: {cell.skipped}")] if cell.skipped else [],
            )
            for cell in self._all
        ]
        body = _opening(function, tuple(self.dimensions)) if made else function
        marked: F = pytest.mark.parametrize(tuple(self.dimensions), parameters)(body)
        return marked


async def open_value(value: MatrixValue, stack: AsyncExitStack) -> Any:
    """The value, made if it has to be; its context is left with the stack."""
    if value.make is None:
        return value.value
    made = value.make()
    if hasattr(made, "__aenter__"):
        return await stack.enter_async_context(made)
    return await made if inspect.isawaitable(made) else made


def _opening(function: F, names: Sequence[str]) -> F:
    """The test, given values in the place of those that make them."""

    @functools.wraps(function)
    async def body(*arguments: Any, **given: Any) -> Any:
        async with AsyncExitStack() as stack:
            values = {name: await open_value(given[name], stack) for name in names}
            return await function(*arguments, **{**given, **values})

    return body  # type: ignore[return-value]


def matrix_error(problems: Sequence[tuple[str, str]]) -> MatrixError:
    """The error of some keys of a matrix."""
    return MatrixError(
        [ScriptProblem("", 0, f"matrix.{key}" if key else "matrix", message) for key, message in problems]
    )


def _values(name: str, values: object, problems: list[tuple[str, str]]) -> tuple[MatrixValue, ...]:
    if not isinstance(values, list | tuple):
        problems.append((name, f"expected a list of values, got {type(values).__name__}"))
        return ()
    if not values:
        problems.append((name, "expected at least one value, got an empty list"))
    found: list[MatrixValue] = []
    for number, value in enumerate(values):
        one = value if isinstance(value, MatrixValue) else MatrixValue(value)
        label = one.label or _label(one.value) or f"{name}{number + 1}"
        if any(label == other.label for other in found):
            problems.append((f"{name}[{number}]", f"two values are called {label!r}; give them labels"))
        found.append(msgspec.structs.replace(one, label=label))
    return tuple(found)


def _label(value: object) -> str:
    """A value as a label, if it is short and plain."""
    if isinstance(value, bool) or value is None:
        return str(value).lower() if value is not None else "none"
    if isinstance(value, str | int | float):
        text = str(value)
        return text if len(text) <= 60 and "\n" not in text else ""
    name = getattr(value, "__name__", "")
    return name if isinstance(name, str) and name != "<lambda>" else ""


def _choices(
    key: str,
    given: Choice | Sequence[Choice],
    dimensions: Mapping[str, Sequence[MatrixValue]],
    problems: list[tuple[str, str]],
) -> list[Choice]:
    """Choices as lists of labels; a dimension or a label that there is not is a problem."""
    found: list[Choice] = []
    for choice in [given] if isinstance(given, Mapping) else given:
        if not isinstance(choice, Mapping) or not choice:
            problems.append((key, f"expected labels by dimension, got {choice!r}"))
            continue
        wanted = {}
        for name, labels in choice.items():
            if name not in dimensions:
                problems.append((key, f"there is no dimension {name!r}; {did_you_mean(name, dimensions)}"))
                continue
            known = [value.label for value in dimensions[name]]
            wanted[name] = [
                label if isinstance(label, str) else _label(label)
                for label in (labels if isinstance(labels, list | tuple) else [labels])
            ]
            problems += [
                (key, f"{name} has no value {label!r}; {did_you_mean(label, known) or ', '.join(known)}")
                for label in wanted[name]
                if label not in known
            ]
        found.append(wanted)
    return found


def _fits(cell: MatrixCell, choice: Choice) -> bool:
    return all(cell.labels[name] in labels for name, labels in choice.items())
