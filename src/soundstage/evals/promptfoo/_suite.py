"""A configuration as the data of a suite: a case for each prompt, provider and test."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from soundstage.errors import ScriptError
from soundstage.evals._errors import EvalConfigError
from soundstage.evals.promptfoo._asserts import CaseTerms, expectations, transform_of
from soundstage.evals.promptfoo._prompts import SourcePrompt, conversation_of, read_prompts
from soundstage.evals.promptfoo._providers import SourceProvider, read_providers
from soundstage.evals.promptfoo._reading import PromptfooReading, part_of, placed, resolved
from soundstage.evals.promptfoo._render import js_text, render
from soundstage.evals.promptfoo._tests import SourceTest, read_tests
from soundstage.scripts import (
    SourceField,
    SourceNode,
    SourceReport,
    in_one_line,
    read_source_file,
    shown,
    sorted_problems,
)

_SIGNS: Final = {"providers", "targets", "prompts"}  # keys that no suite of ours has
_SERVED: Final = {
    "description",
    "prompts",
    "providers",
    "targets",
    "tests",
    "defaultTest",
    "scenarios",
    "evaluateOptions",
    "assertionTemplates",
    "$schema",
}
_NOTED: Final = {
    "outputPath": "the report is last-report.json; --junit and --markdown write others",
    "sharing": "nothing is shared",
    "writeLatestResults": "each run is kept in the store",
    "tags": "a suite has no tags",
    "metadata": "a suite has no metadata; its cases have",
    "commandLineOptions": "options are those of `soundstage eval run`",
}
_REFUSED: Final = {
    "env": "set variables where the eval is started",
    "extensions": "hooks are not served",
    "nunjucksFilters": "filters of your own are not served",
    "derivedMetrics": "metrics made of others are not served",
    "redteam": "red teaming is not served",
    "tracing": "spans are not received here; the run itself is the trace",
}
_OPTIONS: Final = {"repeat", "timeoutMs"}
_OPTIONS_NOTED: Final = {
    "maxConcurrency": "`--concurrency` says how many runs go at a time",
    "showProgressBar": "progress is told on standard error",
    "cache": "repeats are never served from a cache",
    "generateSuggestions": "nothing is suggested",
}


_ANY_PROMPT: Final = SourcePrompt("any", "", "", 0, "")
_ANY_PROVIDER: Final = SourceProvider("echo", "echo", {"provider": {"echo": True}}, None, None, ())


class ImportedSuite(NamedTuple):
    """A configuration as a suite.

    Args:
        node: the data of a suite, with the lines of the configuration.
        notes: what was left out because it changes no result.
        read: files that belong to it, besides the configuration.
    """

    node: SourceNode
    notes: tuple[str, ...]
    read: tuple[Path, ...]


def is_promptfoo(node: SourceNode) -> bool:
    """Whether a file is a configuration of promptfoo, and no suite of ours."""
    return not node.fields.keys().isdisjoint(_SIGNS) and node.fields.keys().isdisjoint({"agent", "cases"})


def import_promptfoo(path: Path | str) -> ImportedSuite:
    """A configuration of promptfoo as the data of a suite file.

    Args:
        path: of the configuration, YAML or JSON.

    Raises:
        EvalConfigError: with all that is wrong or not served, each with file, line and key.

    Example:
        ::

            print([case["name"] for case in import_promptfoo("promptfooconfig.yaml").node.value["cases"]])
    """
    report = SourceReport(shown(Path(path)))
    root = read_source_file(Path(path), report)
    found = None if root is None else read_promptfoo(Path(path), root, report)
    if found is None:
        raise EvalConfigError(sorted_problems(report))
    return found


def read_promptfoo(path: Path, root: SourceNode, report: SourceReport) -> ImportedSuite | None:
    """A configuration as a suite, or nothing; `report` then knows all that is wrong with it."""
    folder = str(path.parent.resolve())
    sys.path[:] = [
        folder,
        *(one for one in sys.path if one != folder),
    ]  # code is found beside the configuration
    reading = PromptfooReading(path, report)
    root = resolved(root, root, lambda node, message: reading.refuse(node, "$ref", message))
    reading.known(root, "", _SERVED, _REFUSED, _NOTED)
    options = part_of(root, "evaluateOptions")
    if options is not None:
        refused = {"delay": "runs are not delayed: lower the concurrency"}
        reading.known(options, "evaluateOptions", _OPTIONS, refused, _OPTIONS_NOTED)
        for name in _OPTIONS:
            node = part_of(options, name)
            if node is not None and (isinstance(node.value, bool) or not isinstance(node.value, int)):
                reading.refuse(
                    node, f"evaluateOptions.{name}", f"expected a whole number, got {node.value!r}"
                )
    prompts = read_prompts(part_of(root, "prompts"), reading)
    providers, tests = read_providers(root, reading), read_tests(root, reading)
    first = providers[0] if providers else None
    cases = [
        placed(
            {key: part for key, part in case.items() if first is None or part != getattr(first, key, None)},
            line,
        )
        for case, line in _cases(prompts, providers, tests, reading)
    ]
    if report.problems:
        for test in tests:  # also those whose providers or prompts are refused: they have no case
            for variables in test.combinations():
                _case("", test, variables, _ANY_PROMPT, _ANY_PROVIDER, reading)
        report.problems[:] = dict.fromkeys(report.problems)  # an assertion is read once for each of its cases
    if report.problems or first is None:
        return None
    if not cases:
        reading.refuse(
            root, "tests", "no prompt, provider and test belong together: their filters let nothing through"
        )
        return None
    return ImportedSuite(
        _whole(root, path, first, cases, options),
        tuple(dict.fromkeys(reading.notes)),
        tuple(dict.fromkeys(reading.read)),
    )


def _whole(
    root: SourceNode, path: Path, first: SourceProvider, cases: list[SourceNode], options: SourceNode | None
) -> SourceNode:
    name = part_of(root, "description")
    given = options.value if options is not None and isinstance(options.value, dict) else {}
    head: dict[str, Any] = {
        "version": 1,
        "name": _in_a_line(str(name.value))
        if name is not None and name.value
        else path.name.partition(".")[0],
        "agent": first.agent,
        **({"live": first.live} if first.live else {}),
        **({"repeat": given["repeat"]} if "repeat" in given else {}),
        **({"timeout": given["timeoutMs"] / 1000} if given.get("timeoutMs") else {}),
    }
    node = placed(head, root.line)
    listed = SourceNode([case.value for case in cases], root.line, items=cases)
    fields = {**node.fields, "cases": SourceField(root.line, listed)}
    return SourceNode({key: field.node.value for key, field in fields.items()}, root.line, fields=fields)


def _cases(
    prompts: list[SourcePrompt],
    providers: list[SourceProvider],
    tests: list[SourceTest],
    reading: PromptfooReading,
) -> Iterator[tuple[dict[str, Any], int]]:
    """The cases, in the order of tests, then providers, then prompts; each with its line."""
    number = 0
    for test in tests:
        for variables in test.combinations():
            number += 1
            for who, provider in enumerate(providers, 1):
                for at, prompt in enumerate(prompts, 1):
                    if not _meant(test, prompt, provider):
                        continue
                    name = _name(number, test, at, len(prompts), who, providers)
                    made = _case(name, test, variables, prompt, provider, reading)
                    if made is not None:
                        yield made, test.node.line


def _meant(test: SourceTest, prompt: SourcePrompt, provider: SourceProvider) -> bool:
    """Whether the filters of a test and of a provider let a combination through."""
    names = {provider.name, provider.id}
    return (
        _chosen(provider.prompts, prompt)
        and _chosen(test.prompts, prompt)
        and (not test.providers or not names.isdisjoint(test.providers))
    )


def _chosen(wanted: tuple[str, ...], prompt: SourcePrompt) -> bool:
    names = {prompt.label, prompt.group}
    return not wanted or any(
        one in names or prompt.label.startswith(f"{one.removesuffix('*').removesuffix(':')}:")
        for one in wanted
    )


def _name(
    number: int, test: SourceTest, at: int, prompts: int, who: int, providers: list[SourceProvider]
) -> str:
    """A name such as `prompt 1, openai:gpt-4.1: test 3, Paris`; parts of which there is one are left out."""
    names = [one.name for one in providers]
    label = names[who - 1] if names.count(names[who - 1]) == 1 else f"{names[who - 1]} ({who})"
    place = ([f"prompt {at}"] if prompts > 1 else []) + ([label] if len(providers) > 1 else [])
    told = f"test {number}" + (f", {_in_a_line(test.name)}" if test.name else "")
    return f"{', '.join(place)}: {told}" if place else told


def _in_a_line(text: str) -> str:
    return " ".join(text.split())


def _case(
    name: str,
    test: SourceTest,
    variables: Mapping[str, Any],
    prompt: SourcePrompt,
    provider: SourceProvider,
    reading: PromptfooReading,
) -> dict[str, Any] | None:
    own = test.reading or reading
    try:
        known = _rendered(variables)
        text = prompt.rendered(known, prefix=_option(test, "prefix"), suffix=_option(test, "suffix"))
        chat = conversation_of(text) if provider.live is not None else ""
    except ScriptError as error:
        own.refuse(test.node, test.key, in_one_line(error))
        return None
    agent = dict(provider.agent)
    if chat:
        agent["chat"] = True
    if "provider" in agent and not agent["provider"].get("echo"):
        agent["provider"] = {**agent["provider"], "vars": dict(variables)}
    return {
        "name": name,
        "input": chat or text,
        "metadata": {**test.metadata, "vars": dict(variables)},
        "agent": agent,
        **({"live": provider.live} if provider.live else {}),
        "expect": expectations(test, CaseTerms(known, provider.declared), _transforms(test, provider, own)),
    }


def _transforms(test: SourceTest, provider: SourceProvider, reading: PromptfooReading) -> list[Any]:
    """How the answer is changed: as data, if it is meant to be some; by the provider's transform, by the test's."""
    settings = provider.agent.get("settings", {})
    found: list[Any] = (
        ["json"] if settings.keys() & {"tools", "response_format"} or _makes_data(provider) else []
    )
    if provider.transform is not None:
        found.append(provider.transform)
    for name in ("postprocess", "transform"):
        node = test.options.get(name)
        if node is not None:
            try:
                found.append(transform_of(node.value))
            except ScriptError as error:
                reading.refuse(node, f"{test.key}.options.{name}", in_one_line(error))
    return found


def _makes_data(provider: SourceProvider) -> bool:
    """Whether a provider may return data instead of a text."""
    return not provider.agent.get("provider", {}).keys().isdisjoint({"file", "http"})


def _option(test: SourceTest, name: str) -> str:
    node = test.options.get(name)
    return "" if node is None else js_text(node.value)


def _rendered(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Variables as templates see them: texts may name others, and lose the line end behind them."""
    return {
        name: render(value, variables).removesuffix("\n") if isinstance(value, str) else value
        for name, value in variables.items()
    }
