"""Files of other tools: where their calls are. Pure: text in, calls and problems out, in the order of the file.

- `vcrpy`: cassettes, YAML or JSON: `interactions`, each with `request` (`uri`, `body`) and `response` (`status`,
  `body.string`, as text or binary, packed or not).
- `har`: HTTP archives of browsers and proxies: `log.entries`.
- `openai`: JSON Lines: lines of fine-tuning (`messages`, the last one is the answer), and of batches, whose input
  (`body`) and output (`response.body`) belong together by `custom_id` and may stand in one file or in two.
- `langsmith`: JSON Lines of runs: those of the type `llm` that hold messages and answer as OpenAI has them, or as
  LangChain.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from soundstage.errors import ConfigError
from soundstage.tapes._importing import ForeignCall, ForeignProblem

CHAT_URL: Final = "https://api.openai.com/v1/chat/completions"
Found = Iterator[ForeignCall | ForeignProblem]


def _calls_of_vcrpy(text: str) -> Found:
    import yaml

    try:
        tree, data = yaml.compose(text, yaml.SafeLoader), yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise _no_file("a cassette of vcrpy", " ".join(str(error).split())) from None
    entries = data.get("interactions") if isinstance(data, dict) else None
    if not isinstance(entries, list):
        raise _no_file("a cassette of vcrpy with `interactions`", f"{type(data).__name__}")
    assert isinstance(tree, yaml.MappingNode)
    (nodes,) = (value for key, value in tree.value if key.value == "interactions")
    for node, entry in zip(nodes.value, entries, strict=True):
        where = f"line {node.start_mark.line + 1}"
        try:
            asked, answered = entry["request"], entry["response"]
            yield ForeignCall(
                where,
                asked["uri"],
                _bytes(asked.get("body")),
                _bytes(answered.get("body")),
                status=int(answered["status"]["code"]),
                method=asked["method"],
                asked_headers=_first(asked.get("headers")),
                headers=_first(answered.get("headers")),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            yield ForeignProblem(where, f"no interaction of vcrpy: {error!r}")


def _bytes(body: Any) -> bytes:
    """A body as vcrpy keeps it: nothing, text, bytes, or one of them under `string` or `base64_string`."""
    if isinstance(body, Mapping):
        if "base64_string" in body:
            return base64.b64decode(body["base64_string"])
        body = body.get("string")
    if body is None:
        return b""
    return body if isinstance(body, bytes) else str(body).encode()


def _first(headers: Any) -> dict[str, str]:
    """Headers with one value each."""
    found = {}
    for name, value in (headers or {}).items():
        one = value[0] if isinstance(value, list) and value else value
        found[str(name)] = one.decode("latin-1") if isinstance(one, bytes) else str(one)
    return found


def _calls_of_har(text: str) -> Found:
    try:
        entries = json.loads(text.removeprefix("\ufeff"))["log"]["entries"]
    except (ValueError, KeyError, TypeError) as error:
        raise _no_file("an HTTP archive with `log.entries`", repr(error)) from None
    for number, entry in enumerate(entries, start=1):
        where = f"entry {number}"
        try:
            asked, answered = entry["request"], entry["response"]
            content = answered.get("content", {})
            answer = content.get("text", "")
            yield ForeignCall(
                where,
                asked["url"],
                asked.get("postData", {}).get("text", "").encode(),
                base64.b64decode(answer) if content.get("encoding") == "base64" else answer.encode(),
                status=int(answered["status"]),
                method=asked["method"],
                asked_headers=_pairs(asked.get("headers"), but="content-encoding"),
                headers=_pairs(answered.get("headers"), but="content-encoding"),
                started=str(entry.get("startedDateTime", "")),
                latency_ms=max(0.0, float(entry.get("time") or 0)),
            )
        except (KeyError, TypeError, ValueError, AttributeError, binascii.Error) as error:
            yield ForeignProblem(where, f"no entry of an archive: {error!r}")


def _pairs(headers: Any, *, but: str) -> dict[str, str]:
    """Headers of an archive; its bodies are unpacked already."""
    return {one["name"]: one["value"] for one in headers or () if one["name"].lower() != but}


def _lines(text: str) -> Iterator[tuple[str, dict[str, Any] | None]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                found = json.loads(line)
            except ValueError:
                found = None
            yield f"line {number}", found if isinstance(found, dict) else None


def _calls_of_openai(text: str) -> Found:
    asked: dict[str, tuple[str, dict[str, Any]]] = {}
    for where, line in _lines(text):
        if line is None:
            yield ForeignProblem(where, "no JSON object")
        elif "custom_id" in line and "body" in line:
            asked[line["custom_id"]] = (where, line)
        elif "custom_id" in line:
            yield _of_batch(where, line, asked.pop(line["custom_id"], None))
        elif isinstance(line.get("messages"), list):
            yield _of_chat(where, line)
        else:
            yield ForeignProblem(where, "neither `messages` nor a line of a batch with `custom_id`")
    for where, line in asked.values():
        yield ForeignProblem(
            where, f"no answer with the custom_id {line['custom_id']!r}: import the output too"
        )


def _of_batch(
    where: str, line: dict[str, Any], asked: tuple[str, dict[str, Any]] | None
) -> ForeignCall | ForeignProblem:
    if asked is None:
        return ForeignProblem(
            where, f"no request with the custom_id {line['custom_id']!r}: import the input first"
        )
    answer = line.get("response")
    if not isinstance(answer, dict) or not answer.get("body"):
        return ForeignProblem(where, f"no answer: {line.get('error')!r}")
    request = asked[1]
    return ForeignCall(
        where,
        "https://api.openai.com" + str(request.get("url", "/v1/chat/completions")),
        json.dumps(request["body"]).encode(),
        json.dumps(answer["body"]).encode(),
        status=int(answer.get("status_code", 200)),
        method=str(request.get("method", "POST")),
    )


def _of_chat(where: str, line: dict[str, Any]) -> ForeignCall | ForeignProblem:
    *before, last = line["messages"] or [None]
    if not before or not isinstance(last, dict) or last.get("role") != "assistant":
        return ForeignProblem(where, "its last message is none of the assistant, so it has no answer")
    fields = {key: value for key, value in line.items() if key in ("tools", "parallel_tool_calls")}
    message = {key: value for key, value in last.items() if key != "weight"}
    return _chat_call(where, {"model": line.get("model", "unknown"), "messages": before, **fields}, message)


def _chat_call(where: str, body: dict[str, Any], message: dict[str, Any]) -> ForeignCall:
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    answer = {
        "id": "chatcmpl-imported",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    return ForeignCall(where, CHAT_URL, json.dumps(body).encode(), json.dumps(answer).encode())


_ROLES: Final = {
    "HumanMessage": "user",
    "SystemMessage": "system",
    "AIMessage": "assistant",
    "ToolMessage": "tool",
}
_TYPES: Final = {"human": "user", "system": "system", "ai": "assistant", "tool": "tool"}


def _calls_of_langsmith(text: str) -> Found:
    for where, run in _lines(text):
        if run is None:
            yield ForeignProblem(where, "no JSON object")
        elif run.get("run_type") == "llm":
            try:
                yield _of_run(where, run)
            except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
                yield ForeignProblem(
                    where, f"no messages and answer as OpenAI or LangChain has them: {error!r}"
                )


def _of_run(where: str, run: dict[str, Any]) -> ForeignCall | ForeignProblem:
    inputs, outputs = run["inputs"], run.get("outputs")
    if not outputs:
        return ForeignProblem(where, f"the run has no output: {run.get('error') or 'it was not ended'}")
    known = (run.get("extra") or {}).get("invocation_params") or {}
    model = inputs.get("model") or known.get("model") or known.get("model_name") or "unknown"
    messages = inputs["messages"]
    if messages and isinstance(messages[0], list):
        messages = messages[0]
    body = {"model": model, "messages": [_message(one) for one in messages]}
    tools = inputs.get("tools") or known.get("tools")
    body.update({"tools": tools} if tools else {})
    if "generations" in outputs:
        first = outputs["generations"][0]
        one = first[0] if isinstance(first, list) else first
        return _chat_call(where, body, _message(one["message"]))
    message = outputs["choices"][0]["message"] if "choices" in outputs else outputs["message"]
    return _chat_call(where, body, _message(message))


def _message(given: dict[str, Any]) -> dict[str, Any]:
    """A message as OpenAI has it."""
    if "role" in given:
        return given
    kwargs = given.get("kwargs") or given.get("data") or given
    role = _ROLES.get(given["id"][-1].removesuffix("Chunk")) if "id" in given and "kwargs" in given else None
    role = role or _TYPES[given.get("type", kwargs.get("type", ""))]
    found: dict[str, Any] = {"role": role, "content": kwargs.get("content")}
    if kwargs.get("tool_calls") and role == "assistant":
        found["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call["args"])},
            }
            for call in kwargs["tool_calls"]
        ]
    if role == "tool":
        found["tool_call_id"] = kwargs["tool_call_id"]
    return found


def _no_file(expected: str, seen: str) -> ConfigError:
    return ConfigError("this file cannot be imported", expected=expected, seen=seen)


READERS: Final[Mapping[str, Callable[[str], Found]]] = {
    "vcrpy": _calls_of_vcrpy,
    "har": _calls_of_har,
    "openai": _calls_of_openai,
    "langsmith": _calls_of_langsmith,
}
