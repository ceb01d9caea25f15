"""Script files of servers: YAML or JSON in, scripts by name out, or every problem with its line.

The file is read as a model's script is (`soundstage.scripts`): text to data with lines, data to records, and what the
records say. A file has one key, `mcp`, with servers by name.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from soundstage.errors import ScriptError, ScriptLoadError, ScriptProblem
from soundstage.match import matcher
from soundstage.mcp._answer import as_answer
from soundstage.mcp._rules import call_conditions
from soundstage.mcp._script import McpScript
from soundstage.mcp._spec import FileSpec, PromptSpec, ServerSpec, ToolSpec
from soundstage.scripts import (
    SourceNode,
    SourceReport,
    convert_source,
    in_words,
    items_of,
    published_schema,
    read_source_file,
    report_conditions,
    reporting,
    right_version,
    shown,
    sorted_problems,
    where,
    wrap_source,
)


def load_servers(path: Path | str) -> dict[str, McpScript]:
    """The servers of a script file, by name.

    Raises:
        ScriptLoadError: with every problem of the file, each with its line.
    """
    report = SourceReport(shown(Path(path)))
    node = read_source_file(Path(path), report)
    servers = _servers(node, report) if node is not None else {}
    if report.problems:
        raise ScriptLoadError(sorted_problems(report))
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
        found = load_servers(path)
    except ScriptLoadError as error:
        return list(error.problems)
    return [problem for script in found.values() for problem in script.rules.problems()]


def mcp_script_schema() -> dict[str, Any]:
    """The form of a script file of MCP servers as JSON Schema, draft 2020-12, for editors.

    Example:
        >>> mcp_script_schema()["required"]
        ['mcp']
    """
    return published_schema(FileSpec, "Soundstage script of MCP servers")


def _servers(node: SourceNode, report: SourceReport) -> dict[str, McpScript]:
    if not isinstance(node.value, dict) or "mcp" not in node.fields:
        report.add(node.line, "", "a script of MCP servers is a mapping with `mcp`")
        return {}
    if not right_version(node, report):
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
    tools = [(tool, f"{key}.tools[{number}]") for number, tool in enumerate(items_of(node, "tools"))]
    for tool, place in tools:
        for number, rule in enumerate(items_of(tool, "rules")):
            if "when" in rule.fields:
                when = rule.fields["when"].node
                report_conditions(
                    when, f"{place}.rules[{number}].when", report, lambda _, spec: matcher(spec)
                )
    if spec is None:
        return McpScript()
    made = McpScript(
        strict=spec.strict, instructions=spec.instructions, version=spec.version, page_size=spec.page_size
    )
    for (item, place), tool_spec in zip(tools, spec.tools, strict=True):
        with reporting(report, item, place):
            _tool(made, tool_spec, item, report)
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


def _tool(script: McpScript, spec: ToolSpec, node: SourceNode, report: SourceReport) -> None:
    script.tool(
        spec.name,
        description=spec.description,
        schema=spec.schema,
        title=spec.title,
        output_schema=spec.output_schema or None,
        annotations=spec.annotations or None,
        returns=spec.returns,
    )
    for rule, item in zip(spec.rules, items_of(node, "rules"), strict=True):
        if report.problems:
            return  # conditions that are none have been told, each with its own line
        script.add_rule(
            spec.name,
            call_conditions(spec.name, rule.when),
            as_answer(rule.returns),
            priority=rule.priority,
            times=rule.times,
            name=rule.name,
            where=where(report, item),
        )


def _prompt(script: McpScript, spec: PromptSpec) -> None:
    messages: Any = spec.messages
    if not isinstance(messages, str):
        messages = [(message.role, message.text) for message in messages]
    script.prompt(spec.name, messages, description=spec.description, arguments=spec.arguments)
