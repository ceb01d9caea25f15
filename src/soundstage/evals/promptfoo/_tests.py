"""The tests of a configuration: in place, in files, by scenarios; each with all that it inherits."""

from __future__ import annotations

import csv
import functools
import io
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from soundstage.evals.promptfoo._columns import test_of_row
from soundstage.evals.promptfoo._reading import FILE, PromptfooReading, each, part_of, placed
from soundstage.scripts import SourceNode, SourceReport, read_source, shown

_KEYS: Final = {"description", "vars", "assert", "options", "threshold", "metadata", "prompts", "providers"}
_REFUSED: Final = {
    "provider": "a provider of one test is not served: use `providers` of the test, which names some of all",
    "assertScoringFunction": "scores by a function are not served: use weights and a threshold",
    "providerOutput": "an output without a provider is not served: use the provider echo",
}
_OPTIONS: Final = {"transform", "postprocess", "prefix", "suffix", "disableVarExpansion"}
_OPTIONS_REFUSED: Final = {
    "transformVars": "variables cannot be transformed: use filters in the prompt",
    "storeOutputAs": "tests that use outputs of others are not served",
    "rubricPrompt": "no judge is served here",
    "provider": "no judge is served here",
}
_OPTIONS_NOTED: Final = {"runSerially": "each run has a place of its own"}
_TEXT_ENDINGS: Final = frozenset({".txt", ".md", ".csv", ".html", ".xml"})
_DATA_ENDINGS: Final = frozenset({".json", ".yaml", ".yml"})


class SourceTest(msgspec.Struct, frozen=True, kw_only=True):
    """A test with all that it inherits, before its lists of values are taken apart.

    Args:
        name: its description.
        variables: by name; a list is one value after the other.
        asserts: each with its key, and who reads it.
        options: `transform`, `prefix` and so on, with their nodes.
        threshold: of the mean score; `None` if every assertion has to pass.
        metadata: whatever else it has.
        prompts: labels of those that it is for; all if empty.
        providers: the same.
        node: where it stands.
        key: of that place.
        reading: who reads it.
    """

    name: str = ""
    variables: dict[str, Any] = {}
    asserts: tuple[tuple[str, SourceNode, PromptfooReading], ...] = ()
    options: dict[str, SourceNode] = {}
    threshold: float | None = None
    metadata: dict[str, Any] = {}
    prompts: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    node: SourceNode = msgspec.field(default_factory=lambda: SourceNode(None, 0))
    key: str = ""
    reading: PromptfooReading | None = None

    def over(self, base: SourceTest) -> SourceTest:
        """This test, with what it inherits from another."""
        return msgspec.structs.replace(
            self,
            name=self.name or base.name,
            variables={**base.variables, **self.variables},
            asserts=base.asserts + self.asserts,
            options={**base.options, **self.options},
            threshold=base.threshold if self.threshold is None else self.threshold,
            metadata={**base.metadata, **self.metadata},
            prompts=self.prompts or base.prompts,
            providers=self.providers or base.providers,
        )

    def combinations(self) -> Iterator[dict[str, Any]]:
        """The variables, once for each combination of the values that are lists."""
        whole = self.options.get("disableVarExpansion")
        if whole is not None and whole.value is True:
            yield self.variables
            return
        lists = {name: value for name, value in self.variables.items() if isinstance(value, list)}
        for values in itertools.product(*lists.values()):
            yield {**self.variables, **dict(zip(lists, values, strict=True))}


def read_tests(root: SourceNode, reading: PromptfooReading) -> list[SourceTest]:
    """The tests of a configuration, then those of its scenarios, each over the default test."""
    default = SourceTest()
    given = part_of(root, "defaultTest")
    if given is not None:
        found = list(_tests(given, "defaultTest", reading))
        default = found[0] if found else default
    tests = [
        test for key, item in each(part_of(root, "tests"), "tests") for test in _tests(item, key, reading)
    ]
    for key, item in each(part_of(root, "scenarios"), "scenarios"):
        tests += _scenario(item, key, reading)
    return [test.over(msgspec.structs.replace(default, name="")) for test in tests] or [
        msgspec.structs.replace(default, key="tests", node=root, reading=reading)
    ]


def _scenario(item: SourceNode, key: str, reading: PromptfooReading) -> list[SourceTest]:
    """Each test of a scenario, over each of its configurations."""
    if isinstance(item.value, str):
        return [
            test
            for path in reading.paths(item.value, item, key)
            for node in [reading.data(path)]
            if node is not None
            for part_key, part in each(node, "")
            for test in _scenario(part, part_key, _within(reading, path))
        ]
    if not reading.known(item, key, {"config", "tests", "description"}, {}, {}):
        return []
    bases, tests = (
        [
            test
            for place, part in each(part_of(item, name), f"{key}.{name}")
            for test in _tests(part, place, reading)
        ]
        for name in ("config", "tests")
    )
    return [
        test.over(base)
        for base in bases
        for test in tests or [SourceTest(node=item, key=key, reading=reading)]
    ]


def _tests(item: SourceNode, key: str, reading: PromptfooReading) -> Iterator[SourceTest]:
    """The tests that an element of a list stands for: itself, or those of files."""
    if isinstance(item.value, str):
        if "://" in item.value.removeprefix(FILE):
            reading.refuse(item, key, f"tests from {item.value.partition(':')[0]}: are not served")
            return
        for path in reading.paths(item.value, item, key):
            yield from _of_file(path, item, key, reading)
    else:
        yield _test(item, key, reading)


def _within(reading: PromptfooReading, path: Path) -> PromptfooReading:
    """The same reading in another file."""
    report = SourceReport(shown(path))
    report.problems = reading.report.problems
    other = PromptfooReading(reading.folder / "x", report)
    other.notes, other.read = reading.notes, reading.read
    return other


def _of_file(path: Path, item: SourceNode, key: str, reading: PromptfooReading) -> Iterator[SourceTest]:
    inner, ending = _within(reading, path), path.suffix.lower()
    if ending in _DATA_ENDINGS:
        node = reading.data(path)
        for place, part in each(node, ""):
            yield from _tests(part, place, inner)
    elif ending == ".jsonl":
        text = reading.text(path, item, key) or ""
        for number, line in enumerate(text.splitlines(), 1):
            own = SourceReport(inner.report.source)
            node = read_source(line, own, form="json") if line.strip() else None
            for problem in own.problems:
                inner.report.add(number, problem.key, problem.message)
            if node is not None:
                yield _test(placed(node.value, number), "", inner)
    elif ending == ".csv":
        yield from _of_rows(reading.text(path, item, key) or "", inner)
    else:
        reading.refuse(item, key, f"tests made by code or kept in tables are not served: {path.name}")


def _of_rows(text: str, reading: PromptfooReading) -> Iterator[SourceTest]:
    reader = csv.DictReader(io.StringIO(text, newline=""), restkey="", strict=True)
    try:
        for number, row in enumerate(reader, 1):
            if "" in row or None in row.values():
                columns = len(reader.fieldnames or ())
                reading.report.add(reader.line_num, "", f"expected {columns} columns, as in the first line")
                continue
            node = SourceNode(None, reader.line_num)
            made = test_of_row(row, number, functools.partial(reading.refuse, node))
            yield _test(placed(made, reader.line_num), "", reading)
    except csv.Error as error:
        reading.report.add(reader.line_num, "", f"this is not CSV: {error}")


def _test(item: SourceNode, key: str, reading: PromptfooReading) -> SourceTest:
    start = f"{key}." if key else ""
    if not reading.known(item, key, _KEYS, _REFUSED, {}):
        return SourceTest(node=item, key=key, reading=reading)
    options = part_of(item, "options")
    if options is not None:
        reading.known(options, f"{start}options", _OPTIONS, _OPTIONS_REFUSED, _OPTIONS_NOTED)
    threshold, metadata = part_of(item, "threshold"), part_of(item, "metadata")
    if threshold is not None and (
        isinstance(threshold.value, bool) or not isinstance(threshold.value, int | float)
    ):
        reading.refuse(threshold, f"{start}threshold", f"expected a number, got {threshold.value!r}")
        threshold = None
    return SourceTest(
        name=str(item.value.get("description", "")),
        variables=_variables(part_of(item, "vars"), f"{start}vars", reading),
        asserts=tuple(
            (place, part, reading) for place, part in each(part_of(item, "assert"), f"{start}assert")
        ),
        options={name: field.node for name, field in (options.fields if options is not None else {}).items()},
        threshold=None if threshold is None else threshold.value,
        metadata=metadata.value if metadata is not None and isinstance(metadata.value, dict) else {},
        prompts=_names(part_of(item, "prompts")),
        providers=_names(part_of(item, "providers")),
        node=item,
        key=key,
        reading=reading,
    )


def _names(node: SourceNode | None) -> tuple[str, ...]:
    return tuple(str(item.value) for _, item in each(node, ""))


def _variables(node: SourceNode | None, key: str, reading: PromptfooReading) -> dict[str, Any]:
    if node is None:
        return {}
    if isinstance(node.value, str):
        merged: dict[str, Any] = {}
        for path in reading.paths(node.value, node, key):
            found = reading.data(path)
            merged |= _variables(found, "", _within(reading, path)) if found is not None else {}
        return merged
    if not isinstance(node.value, dict):
        reading.refuse(node, key, f"expected a mapping, got {type(node.value).__name__}")
        return {}
    return {name: _value(field.node, f"{key}.{name}", reading) for name, field in node.fields.items()}


def _value(node: SourceNode, key: str, reading: PromptfooReading) -> Any:
    """A value; that of a file is its text, or its data."""
    if isinstance(node.value, list):
        return [_value(item, f"{key}[{number}]", reading) for number, item in enumerate(node.items)]
    if not isinstance(node.value, str) or not node.value.startswith(FILE):
        return node.value
    found = reading.paths(node.value, node, key)
    values = []
    for path in found:
        if path.suffix.lower() in _DATA_ENDINGS:
            data = reading.data(path)
            values.append(None if data is None else data.value)
        elif path.suffix.lower() in _TEXT_ENDINGS:
            values.append((reading.text(path, node, key) or "").strip())
        else:
            reading.refuse(node, key, f"a variable is a text or data: {path.name} is neither")
    return values[0] if len(values) == 1 else values
