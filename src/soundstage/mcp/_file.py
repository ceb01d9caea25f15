"""Script files of servers: YAML or JSON in, scripts by name out, or every problem with its line.

The file is read as a model's script is (`soundstage.models`): text to data with lines, data to records, and what the
records say. A file has one key, `mcp`, with servers by name.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from soundstage.errors import ScriptError, ScriptLoadError, ScriptProblem
from soundstage.mcp._answer import as_answer
from soundstage.mcp._rules import ToolRule, arguments_matcher
from soundstage.mcp._script import McpScript
from soundstage.mcp._spec import FileSpec, PromptSpec, RuleSpec, ServerSpec, ToolSpec
from soundstage.scripts import (
    SourceNode,
    SourceReport,
    convert_source,
    in_one_line,
    in_words,
    read_source_file,
    wrap_source,
)


def load_servers(path: Path | str) -> dict[str, McpScript]:
    """The servers of a script file, by name.

    Raises:
        ScriptLoadError: with every problem of the file, each with its line.
    """
    report = SourceReport(str(path))
    node = read_source_file(Path(path), report)
    servers = _servers(node, report) if node is not None else {}
    if report.problems:
        raise ScriptLoadError(sorted(report.problems, key=lambda problem: problem.line))
    return servers


def load_mcp_script(path: Path | str, *, server: str = "") -> McpScript:
    """Read a script file, YAML or JSON: `mcp:` with servers by name.

    Args:
        path: the file.
        server: which of its servers; needed if there are several.

    Raises:
        ScriptLoadError: with every problem of the file, each with its line.
        ScriptError: if there is no such server.
    """
    found = load_servers(path)
    if not server and len(found) == 1:
        return next(iter(found.values()))
    if server not in found:
        raise ScriptError(
            f"{path} has no server {server!r}" if server else f"{path} has several servers",
            expected="one of " + ", ".join(found),
            hint='name one: load_mcp_script(path, server="...")',
        )
    return found[server]


def mcp_script_problems(path: Path | str) -> list[ScriptProblem]:
    """All that is wrong with a script file of MCP servers, each with its line; empty if nothing is.

    Args:
        path: the file, YAML or JSON.
    """
    try:
        load_servers(path)
    except ScriptLoadError as error:
        return list(error.problems)
    return []


def mcp_script_schema() -> dict[str, Any]:
    """The form of a script file of MCP servers as JSON Schema, draft 2020-12, for editors.

    Example:
        >>> mcp_script_schema()["$ref"]
        '#/$defs/FileSpec'
    """
    return msgspec.json.schema(FileSpec)


def _servers(node: SourceNode, report: SourceReport) -> dict[str, McpScript]:
    if not isinstance(node.value, dict) or "mcp" not in node.fields:
        report.add(node.line, "", "a script of MCP servers is a mapping with `mcp`")
        return {}
    servers = node.fields["mcp"].node
    others = wrap_source({key: value for key, value in node.value.items() if key != "mcp"} | {"mcp": {}})
    convert_source(
        FileSpec,
        SourceNode(others.value, node.line, fields={**node.fields, "mcp": others.fields["mcp"]}),
        report,
    )
    if not servers.fields:
        report.add(servers.line, "mcp", f"expected servers by name, got {in_words(servers.value)}")
    return {name: _script(field.node, f"mcp.{name}", report) for name, field in servers.fields.items()}


def _script(node: SourceNode, key: str, report: SourceReport) -> McpScript:
    """One server; with problems, an empty one."""
    spec = convert_source(ServerSpec, node, report, key=key)
    if spec is None:
        return McpScript()
    made = McpScript(
        strict=spec.strict, instructions=spec.instructions, version=spec.version, page_size=spec.page_size
    )
    for number, (tool, item) in enumerate(zip(spec.tools, _items(node, "tools"), strict=True)):
        with _reporting(report, item, f"{key}.tools[{number}]"):
            _tool(made, tool)
        for place, (rule, line) in enumerate(zip(tool.rules, _items(item, "rules"), strict=True)):
            with _reporting(report, line, f"{key}.tools[{number}].rules[{place}].when"):
                made.add_rule(_rule(tool.name, rule, f"{report.source}:{line.line}"))
    for resource in spec.resources:
        made.resource(
            resource.uri,
            resource.text,
            name=resource.name,
            description=resource.description,
            mime_type=resource.mime_type,
        )
    for prompt in spec.prompts:
        _prompt(made, prompt)
    return made


def _items(node: SourceNode, name: str) -> list[SourceNode]:
    return node.fields[name].node.items if name in node.fields else []


@contextlib.contextmanager
def _reporting(report: SourceReport, node: SourceNode, key: str) -> Iterator[None]:
    """What is raised inside becomes a problem of this line."""
    try:
        yield
    except ScriptError as error:
        report.add(node.line, key, in_one_line(error))


def _tool(script: McpScript, spec: ToolSpec) -> None:
    script.tool(
        spec.name,
        description=spec.description,
        schema=spec.schema,
        title=spec.title,
        output_schema=spec.output_schema or None,
        annotations=spec.annotations or None,
        returns=spec.returns,
    )


def _rule(tool: str, spec: RuleSpec, where: str) -> ToolRule:
    condition = arguments_matcher(spec.when)
    answer = as_answer(spec.returns)
    return ToolRule(0, tool, condition, answer, spec.priority, spec.times, spec.name, where)


def _prompt(script: McpScript, spec: PromptSpec) -> None:
    messages: Any = spec.messages
    if not isinstance(messages, str):
        messages = [(message.role, message.text) for message in messages]
    script.prompt(spec.name, messages, description=spec.description, arguments=spec.arguments)
