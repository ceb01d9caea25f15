"""Scripts of servers: their offers and answers, written in Python or read from a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from soundstage.errors import ScriptError
from soundstage.match import preview
from soundstage.mcp._answer import Given, Json, Mishap, ToolAnswer, as_answer
from soundstage.mcp._call import LOGGED, LogLevel, log_params
from soundstage.mcp._catalog import (
    ANYTHING,
    Completion,
    McpPrompt,
    McpResource,
    McpTool,
    need_name,
    slots_of,
)
from soundstage.mcp._function import function_tool
from soundstage.mcp._rules import KINDS, call_conditions
from soundstage.scripts import Conditions, Rule, RuleTable, Serving

F = TypeVar("F", bound=Callable[..., Any])


class OnTool:
    """Calls that wait for their answer; what `McpScript.on_tool` returns."""

    def __init__(self, script: McpScript, tool: str, conditions: Conditions, options: Json) -> None:
        self._script = script
        self._tool = tool
        self._conditions = conditions
        self._options = options

    def returns(self, answer: Any = msgspec.UNSET, /, **fields: Any) -> OnTool:
        """Answer with text, JSON, a `ToolAnswer`, or what a function of the arguments returns.

        `fields` are those of `ToolAnswer`: `json`, `content`, `delay`... A function may be asynchronous; what
        it raises is the text of a failed call.

        Raises:
            ScriptError: for an answer that cannot be one.
        """
        self._script.add_rule(self._tool, self._conditions, given(answer, fields), **self._options)
        return self

    def fails(self, text: str = "the tool failed", /, *, delay: float = 0.0) -> OnTool:
        """Answer with a result that says that the tool failed (`isError`)."""
        return self.returns(error=text, delay=delay)

    def rejects(self, code: int = -32603, message: str = "Internal error", *, data: Any = None) -> OnTool:
        """Answer with a JSON-RPC error."""
        return self.returns(reject={"code": code, "message": message, "data": data})

    def hangs(self) -> OnTool:
        """Never answer."""
        return self.returns(fault="hang")

    def disconnects(self, answer: Any = "this is never read to its end", /) -> OnTool:
        """Cut the connection in the middle of the answer."""
        return self.returns(answer, fault="disconnect")

    def garbles(self, form: Mishap, answer: Any = "spoilt", /) -> OnTool:
        """Send an answer that is no JSON-RPC; for the forms see `ToolAnswer.fault`."""
        return self.returns(answer, fault=form)


def given(answer: Any, fields: Mapping[str, Any]) -> Given:
    """An answer, or the function that makes it."""
    if not callable(answer) or isinstance(answer, ToolAnswer):
        return as_answer(answer, **fields)
    if fields:
        raise ScriptError(
            "a function makes the whole answer", seen=", ".join(fields), hint="let it return a ToolAnswer"
        )
    return answer  # type: ignore[no-any-return]


class McpScript:
    """Tools, resources and prompts of a server, and what its tools answer.

    Args:
        strict: a call that no rule answers is an error, and so is a rule that was never used. Unless it is said,
            servers that a `HostBuilder` or the pytest plugin makes are as strict as the run.
        instructions: what the server tells the model about itself.
        version: of the server, for clients.
        page_size: entries of a list that a client gets at once; all unless given.

    Example:
        >>> script = McpScript()
        >>> script.tool("search", description="Search the notes.")
        >>> _ = script.on_tool("search", arguments={"query": "soup"}).returns("tomato soup")
        >>> _ = script.on_tool("search").fails("the database is down")
        >>> [rule.describe() for rule in script.rules]
        ["tool 'search', arguments.query 'soup'", "tool 'search'"]
    """

    def __init__(
        self,
        *,
        strict: bool | None = None,
        instructions: str = "",
        version: str = "1.0.0",
        page_size: int | None = None,
    ) -> None:
        if page_size is not None and page_size < 1:
            raise ValueError(f"a page has at least one entry, got page_size={page_size}")
        self.strict = strict
        self.instructions = instructions
        self.version = version
        self.page_size = page_size
        self.tools: dict[str, McpTool] = {}
        self.resources: dict[str, McpResource] = {}
        self.prompts: dict[str, McpPrompt] = {}
        self.rules = RuleTable(KINDS)
        self.serving = Serving(self.rules)

    # what it offers

    def tool(
        self,
        name: str,
        *,
        description: str = "",
        schema: Mapping[str, Any] = ANYTHING,
        title: str = "",
        output_schema: Mapping[str, Any] | None = None,
        annotations: Mapping[str, Any] | None = None,
        returns: Any = None,
    ) -> None:
        """Declare a tool, or replace one. Tools that only have rules are declared by `on_tool`.

        Args:
            name: its name.
            description: what it does; the model reads it.
            schema: JSON Schema of its arguments. Calls that do not fit are answered as real servers do.
            title: for people.
            output_schema: JSON Schema of structured results.
            annotations: hints for clients: `{"readOnlyHint": True}`.
            returns: the answer when no rule has one, as in `on_tool(...).returns(...)`.

        Raises:
            ScriptError: for a blank name, a schema that is no object, or an answer that cannot be one.
        """
        if not isinstance(schema, Mapping) or schema.get("type") != "object":
            raise ScriptError(f"the schema of {name!r} describes an object", seen=preview(schema))
        default = None if returns is None else given(returns, {})
        self._put_tool(McpTool(name, description, schema, title, output_schema, annotations, default))

    def function(self, function: F, /, *, name: str = "", description: str = "") -> F:
        """Declare a Python function as a tool; also a decorator. Its types make the schema.

        Raises:
            ScriptError: for arguments without a name, or of a type without a schema.
        """
        self._put_tool(function_tool(function, name=name, description=description))
        return function

    def on_tool(
        self,
        tool: str,
        /,
        *,
        arguments: Any = None,
        priority: int = 0,
        times: int | None = None,
        name: str = "",
    ) -> OnTool:
        """Begin a rule: `server.on_tool("search", arguments={"query": "/soup/i"}).returns("tomato soup")`.

        Args:
            tool: the name of the tool.
            arguments: for each argument a condition of `soundstage.match`, or a function of all of them. A plain
                text is contained in the argument, numbers and booleans are equal to it.
            priority: higher ones are asked first; equal ones in the order of registration.
            times: how often it serves; without limit unless given.
            name: how messages call it.

        Raises:
            ScriptError: for a bad expression.
        """
        conditions = call_conditions(need_name("a tool", tool), arguments)
        return OnTool(self, tool, conditions, {"priority": priority, "times": times, "name": name})

    def queue(self, tool: str, *answers: Any) -> None:
        """Add answers of a tool that serve once each, in order, whatever the arguments are."""
        for answer in answers:
            self.on_tool(tool, times=1).returns(answer)

    def resource(
        self,
        uri: str,
        content: str | bytes | Callable[..., Any],
        *,
        name: str = "",
        description: str = "",
        mime_type: str = "",
        completes: Mapping[str, Completion] | None = None,
    ) -> None:
        """Declare a resource, or replace one.

        Args:
            uri: its address. With `{name}` in it, it is a template and `content` a function of these names.
            content: text, bytes, or a function that returns either.
            name: for people; the address unless given.
            description: what it is.
            mime_type: of the content.
            completes: for the names in a template, values that a client may offer (`completion/complete`): a list,
                or a function of what has been typed and of the other arguments.

        Raises:
            ScriptError: for a blank address, or completions of a name that is not in it.
        """
        known = need_name("a resource", uri) in self.resources
        self.resources[uri] = McpResource(uri, content, name, description, mime_type, dict(completes or {}))
        _need_slots(uri, slots_of(uri), completes or {})
        self._changed("resources", uri=uri if known else "")

    def prompt(
        self,
        name: str,
        messages: str | list[tuple[str, str]] | Callable[..., Any],
        *,
        description: str = "",
        arguments: Mapping[str, str] | None = None,
        completes: Mapping[str, Completion] | None = None,
    ) -> None:
        """Declare a prompt, or replace one.

        Args:
            name: its name.
            messages: the text that the user says, in which `{topic}` stands for an argument; pairs of a role and
                a text; or a function of the arguments that returns either.
            description: what it is for.
            arguments: for each argument what it is. `topic*` must be given.
            completes: for arguments, values that a client may offer, as of `resource`.

        Raises:
            ScriptError: for a blank name, or completions of an argument that it does not have.
        """
        said: Any = (("user", messages),) if isinstance(messages, str) else messages
        said = said if callable(said) else tuple((str(role), str(text)) for role, text in said)
        made = McpPrompt(name, said, description, dict(arguments or {}), dict(completes or {}))
        _need_slots(
            need_name("a prompt", name), [one.removesuffix("*") for one in made.arguments], made.completes
        )
        self.prompts[name] = made
        self._changed("prompts")

    # what changes

    def log(self, level: LogLevel, data: Any, *, logger: str = "") -> None:
        """Send a line of the log to all clients of a server that runs, if they want lines of this level.

        A tool that logs uses `this_call().log`, which reaches the one client that called it.

        Args:
            level: `debug`, `info`, `notice`, `warning`, `error`, `critical`, `alert` or `emergency`.
            data: text or JSON.
            logger: who says it.

        Raises:
            ScriptError: for another level.
        """
        self._tell(LOGGED, log_params(level, data, logger))

    def change_tool(self, name: str, **changes: Any) -> None:
        """Change a tool that is there: `description`, `schema`, `title`... Clients of a server that runs are told.

        Raises:
            ScriptError: for a tool that is not there, or something that tools do not have.
        """
        tool = self._tool(name)
        unknown = set(changes) - set(McpTool._fields)
        if unknown:
            raise ScriptError(
                f"a tool has no {min(unknown)!r}", expected="one of " + ", ".join(McpTool._fields)
            )
        if changes.get("name", name) != name:
            del self.tools[name]
        self._put_tool(tool._replace(**changes))

    def remove_tool(self, name: str) -> None:
        """Take a tool away. Clients of a server that runs are told.

        Raises:
            ScriptError: for a tool that is not there.
        """
        self._tool(name)
        del self.tools[name]
        self._changed("tools")

    def unused(self) -> list[Rule]:
        """The rules that have not served, in the order of registration."""
        return self.serving.unused()

    def take(self, other: McpScript) -> None:
        """Add everything of another script."""
        self.tools.update(other.tools)
        self.resources.update(other.resources)
        self.prompts.update(other.prompts)
        for rule in other.rules:
            self.rules.put(rule)
        self.strict = self.strict if other.strict is None else other.strict
        self.instructions = self.instructions or other.instructions
        self.version = other.version
        self.page_size = self.page_size or other.page_size

    def add_rule(self, tool: str, conditions: Conditions, answer: Given, **options: Any) -> Rule:
        """Add a rule; `on_tool` is the way to write one.

        Args:
            tool: the tool that it is for; one that is not there yet appears.
            conditions: on the call.
            answer: an answer, or the function that makes it.
            options: `priority`, `times`, `name` and `where`.

        Raises:
            ScriptError: for an option that cannot be one.
        """
        rule = self.rules.add(conditions, answer, **options)
        if tool not in self.tools:
            self._put_tool(McpTool(tool))
        return rule

    def _put_tool(self, tool: McpTool) -> None:
        self.tools[need_name("a tool", tool.name)] = tool
        self._changed("tools")

    def _tool(self, name: str) -> McpTool:
        if name not in self.tools:
            raise ScriptError(
                f"there is no tool {name!r}", expected="one of " + (", ".join(self.tools) or "none")
            )
        return self.tools[name]

    def _changed(self, what: str, *, uri: str = "") -> None:
        """Something is different now; a server that runs tells its clients."""

    def _tell(self, method: str, params: Json) -> None:
        """Tell clients something, if this is a server that runs."""


def _need_slots(what: str, slots: Sequence[str], completes: Mapping[str, Completion]) -> None:
    unknown = [name for name in completes if name not in slots]
    if unknown:
        raise ScriptError(
            f"{what} has no argument {unknown[0]!r} to complete",
            expected="one of " + (", ".join(slots) or "none"),
        )
