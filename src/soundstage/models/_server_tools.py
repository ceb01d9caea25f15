"""Tools that Anthropic runs itself, in plain words: a call and its result become the two blocks that an answer has.

Source: the types of the official SDK (`ServerToolUseBlock` and the blocks of results).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple

import msgspec

Result = str | dict[str, Any] | list[Any]
ServerToolName = Literal[
    "web_search",
    "web_fetch",
    "code_execution",
    "bash_code_execution",
    "text_editor_code_execution",
    "tool_search_tool_regex",
    "tool_search_tool_bm25",
]


class _ServerTool(NamedTuple):
    """A tool that the provider runs.

    Attributes:
        offered: how the `type` of the tool begins that a request has to offer.
        block: the type of its result's block, without `_tool_result`.
        content: makes the block's content of a result in plain words, given the arguments.
    """

    offered: str
    block: str
    content: Callable[[Any, Mapping[str, Any]], Any]


def _found(result: Any, _: Mapping[str, Any]) -> list[dict[str, Any]]:
    pages = [result] if isinstance(result, dict) else result
    return [
        {
            "type": "web_search_result",
            "title": "",
            "page_age": None,
            "encrypted_content": "soundstage",
            **page,
        }
        for page in map(_page, pages if isinstance(pages, list) else [pages])
    ]


def _page(page: Any) -> dict[str, Any]:
    return page if isinstance(page, dict) else {"url": str(page)}


def _fetched(result: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    given = result if isinstance(result, dict) else {"text": _text(result)}
    if "content" in given:
        return {"type": "web_fetch_result", "url": arguments.get("url", ""), "retrieved_at": None, **given}
    source = {"type": "text", "media_type": "text/plain", "data": given.get("text", "")}
    document = {"type": "document", "source": source, "title": given.get("title"), "citations": None}
    return {
        "type": "web_fetch_result",
        "url": given.get("url", arguments.get("url", "")),
        "content": document,
        "retrieved_at": given.get("retrieved_at"),
    }


def _ran(kind: str) -> Callable[[Any, Mapping[str, Any]], dict[str, Any]]:
    def content(result: Any, _: Mapping[str, Any]) -> dict[str, Any]:
        given = result if isinstance(result, dict) else {"stdout": _text(result)}
        return {"type": kind, "stdout": "", "stderr": "", "return_code": 0, "content": [], **given}

    return content


def _edited(result: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    command = arguments.get("command", "view")
    kind = {"type": f"text_editor_code_execution_{command}_result"}
    if isinstance(result, dict):
        return kind | result
    if command != "view":
        return kind | ({"is_file_update": False} if command == "create" else {})
    text = _text(result)
    lines = text.count("\n") + 1
    numbers = {"num_lines": lines, "start_line": 1, "total_lines": lines}
    return kind | {"content": text, "file_type": "text"} | numbers


def _referred(result: Any, _: Mapping[str, Any]) -> dict[str, Any]:
    names = result if isinstance(result, list) else [result]
    references = [{"type": "tool_reference", "tool_name": str(name)} for name in names]
    return {"type": "tool_search_tool_search_result", "tool_references": references}


def _text(result: Any) -> str:
    return result if isinstance(result, str) else msgspec.json.encode(result).decode()


SERVER_TOOLS: Final[Mapping[str, _ServerTool]] = {
    "web_search": _ServerTool("web_search_", "web_search", _found),
    "web_fetch": _ServerTool("web_fetch_", "web_fetch", _fetched),
    "code_execution": _ServerTool("code_execution_", "code_execution", _ran("code_execution_result")),
    "bash_code_execution": _ServerTool(
        "code_execution_", "bash_code_execution", _ran("bash_code_execution_result")
    ),
    "text_editor_code_execution": _ServerTool("code_execution_", "text_editor_code_execution", _edited),
    "tool_search_tool_regex": _ServerTool("tool_search_tool_", "tool_search", _referred),
    "tool_search_tool_bm25": _ServerTool("tool_search_tool_", "tool_search", _referred),
}


def server_tool_blocks(
    name: str,
    arguments: Mapping[str, Any],
    result: Result | None,
    error: str,
    id: str,  # noqa: A002
) -> list[dict[str, Any]]:
    """The blocks of a call that the provider has made itself, as its JSON.

    Args:
        name: one of `SERVER_TOOLS`.
        arguments: of the call.
        result: in plain words; `None` if there is none yet, as in an answer that pauses.
        error: the provider's code in the place of a result; empty for none.
        id: of the call.

    >>> [block["type"] for block in server_tool_blocks("web_search", {"query": "tea"}, [], "", "srvtoolu_1")]
    ['server_tool_use', 'web_search_tool_result']
    """
    tool = SERVER_TOOLS[name]
    blocks: list[dict[str, Any]] = [
        {"type": "server_tool_use", "id": id, "name": name, "input": dict(arguments)}
    ]
    kind = f"{tool.block}_tool_result"
    if error:
        content: Any = {"type": f"{kind}_error", "error_code": error}
    elif result is not None:
        content = tool.content(result, arguments)
    else:
        return blocks
    return [*blocks, {"type": kind, "tool_use_id": id, "content": content}]


_CITATIONS: Final[
    dict[str, tuple[str, dict[str, Any]]]
] = {  # a field of one kind alone -> its type, the usual rest
    "url": ("web_search_result_location", {"cited_text": "", "encrypted_index": "soundstage", "title": None}),
    "search_result_index": ("search_result_location", {"cited_text": "", "title": None, "source": ""}),
    "start_char_index": ("char_location", {"cited_text": "", "document_index": 0, "document_title": None}),
    "start_page_number": ("page_location", {"cited_text": "", "document_index": 0, "document_title": None}),
    "start_block_index": (
        "content_block_location",
        {"cited_text": "", "document_index": 0, "document_title": None},
    ),
}


def citation_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """A citation as the provider's JSON; its type is known by its fields.

    >>> citation_of({"url": "https://tea.test", "title": "Tea"})["type"]
    'web_search_result_location'
    """
    for field, (kind, usual) in _CITATIONS.items():
        if "type" not in given and field in given:
            return {"type": kind, **usual, **given}
    return dict(given)
