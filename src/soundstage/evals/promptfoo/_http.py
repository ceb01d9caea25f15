"""Providers `http` and `https` of promptfoo: what a configuration may say, and the request that it comes to. Pure.

promptfoo's rules, which its own package shows: a template in each text, with the prompt among the variables; a body
that is data goes as JSON, a text as a form unless a header says otherwise; a GET has no body.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec

from soundstage.errors import AppError, ScriptError, WrongValueError, did_you_mean
from soundstage.evals.promptfoo._reading import FILE
from soundstage.evals.promptfoo._render import js_string, json_text, render, render_all

_SERVED: Final = {  # by promptfoo: by us
    "url": "url",
    "method": "method",
    "headers": "headers",
    "body": "body",
    "queryParams": "query",
    "transformRequest": "transform_request",
    "transformResponse": "transform_response",
    "responseParser": "transform_response",
    "validateStatus": "validate_status",
}
_REFUSED: Final = {
    "request": "raw requests are not served: write url, method, headers and body",
    "multipart": "forms of several parts are not served",
    "auth": "write the header, with {{env.NAME}} for what is secret",
    "signatureAuth": "requests are not signed",
    "tls": "certificates of clients are not served",
    "session": "sessions are not served",
    "sessionParser": "sessions are not served",
    "sessionSource": "sessions are not served",
    "stateful": "sessions are not served",
    "tokenEstimation": "tokens are counted, not estimated",
    "tools": "write them into the body",
    "tool_choice": "write it into the body",
    "transformToolsFormat": "write tools into the body in the format of the provider",
    "useHttps": "it is for raw requests, which are not served: write https:// into the url",
    "maxRetries": "requests are not sent again",
}
_TEXTS: Final = ("url", "method", "transformRequest", "transformResponse", "responseParser", "validateStatus")
_FUNCTION: Final = re.compile(r"(\(.*?\)\s*=>|function\s*\(.*?\))")
_LINES: Final = re.compile(r"[\t\r\n]")
_WITHOUT_BODY: Final = ("GET", "HEAD")
_JSON: Final = "application/json"


class HttpSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A provider that is asked by HTTP. Texts are templates; the last three are JavaScript, in place or in a file.

    Args:
        url: where it is.
        method: GET unless given.
        headers: by name.
        body: data, or a text.
        query: what is appended to the URL.
        transform_request: makes the prompt of the request.
        transform_response: makes the answer of the response.
        validate_status: whether a status is an answer; every one unless given.
    """

    url: str
    method: str = ""
    headers: Mapping[str, str] = {}
    body: Any = None
    query: Mapping[str, str] = {}
    transform_request: str = ""
    transform_response: str = ""
    validate_status: str = ""

    @property
    def files(self) -> tuple[str, ...]:
        """The files that its code stands in."""
        return tuple(file_of(one)[0] for one in self._code if one.startswith(FILE))

    @property
    def has_code(self) -> bool:
        """Whether any code belongs to it."""
        return any(self._code)

    @property
    def _code(self) -> tuple[str, str, str]:
        return self.transform_request, self.transform_response, self.validate_status


class SentHttpRequest(NamedTuple):
    """A request as it is sent."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None


def read_http(name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """A provider of a configuration as the data of a suite file.

    Raises:
        ScriptError: for a key that is not served, and a value that promptfoo would not take.
    """
    for key in config:
        if key not in _SERVED:
            told = _REFUSED.get(key, f"there is no such key; {did_you_mean(key, _SERVED)}".rstrip("; "))
            raise ScriptError(f"`{key}` of {name} is not served: {told}")
    for key in _TEXTS:
        if not isinstance(config.get(key, ""), str):
            raise ScriptError(f"`{key}` of {name} is a text", seen=repr(config[key]))
    for key in ("headers", "queryParams"):
        values = config.get(key, {})
        if not isinstance(values, dict) or not all(isinstance(one, str) for one in values.values()):
            raise ScriptError(f"`{key}` of {name} has texts by name", seen=repr(values))
    found = {ours: config[theirs] for theirs, ours in _SERVED.items() if config.get(theirs)}
    found["url"] = config.get("url") or name
    found["transform_response"] = config.get("transformResponse") or config.get("responseParser") or ""
    body = config.get("body")
    if isinstance(body, dict | list):
        found["body"] = body  # also if it is empty
    elif body is not None and not isinstance(body, str):
        raise ScriptError(f"`body` of {name} is data or a text", seen=repr(body))
    elif not body and config.get("method") != "GET":
        raise ScriptError(f"the request of {name} has nothing to send", expected="`body`, or `method: GET`")
    _require_served(name, found)
    return {"http": {key: value for key, value in found.items() if value != ""}}


def _require_served(name: str, found: Mapping[str, Any]) -> None:
    if found["url"] in ("http", "https"):
        raise ScriptError(f"the provider {name} has no address", expected="`url`")
    texts = json.dumps([found.get("body"), found.get("headers"), found.get("query"), found["url"]])
    if FILE in json.dumps(found.get("body")):
        raise ScriptError(f"`body` of {name} names a file, which is not served", hint="write it in place")
    if "evaluationId" in texts:
        raise ScriptError(f"`evaluationId` in {name} is not served: an eval has no such variable")
    for key in ("transform_request", "transform_response", "validate_status"):
        code = found.get(key, "")
        if code.startswith(FILE) and not file_of(code)[0].endswith((".js", ".cjs", ".mjs")):
            raise ScriptError(f"code of {name} in a file is JavaScript", seen=code)


def file_of(reference: str) -> tuple[str, str]:
    """The file and the function of `file://name.js:function`."""
    file, _, function = reference.removeprefix(FILE).partition(":")
    return file, function


def provider_request(source: HttpSource, variables: Mapping[str, Any], prompt: Any) -> SentHttpRequest:
    """The request of a provider.

    Args:
        source: the provider.
        variables: of the case, with its prompt.
        prompt: the prompt as `transform_request` has made it: a text, or data.

    Raises:
        AppError: for a template that fails, and a request that cannot be.
    """
    try:
        headers = {name: render(value, variables, js_string) for name, value in _headers(source).items()}
        is_json = any(name.startswith("content-type") and _JSON in value for name, value in headers.items())
        if isinstance(source.body, dict | list) and not is_json:
            raise AppError(
                "the body is data, and its content type is not JSON", seen=headers.get("content-type", "none")
            )
        method = render(source.method, variables, js_string) or "GET"
        url = _with_query(_plain(render(source.url, variables, js_string)), source.query, variables)
        body = _body(source.body, variables, prompt, is_json=is_json)
    except WrongValueError as error:
        raise AppError(f"the request cannot be made: {error}") from None
    if method == "GET" or body is None:
        return SentHttpRequest(method, url, headers, None)
    if method.upper() in _WITHOUT_BODY:
        raise AppError(f"a request with {method} has no body", seen=json_text(body)[:80])
    if is_json:
        text = body if isinstance(body, str) else json_text(body)
    else:
        text = js_string(body).strip()
    return SentHttpRequest(method, url, headers, text.encode())


def _headers(source: HttpSource) -> dict[str, str]:
    """Those of the source by their names in small letters, behind the usual content type."""
    own = {name.lower(): value for name, value in source.headers.items()}
    if source.method == "GET" or source.body is None:
        return own
    usual = "application/x-www-form-urlencoded" if isinstance(source.body, str) else _JSON
    return {"content-type": usual, **own}


def _plain(url: str) -> str:
    """A URL as browsers read it: without the ends of lines and tabs in it, with `/` in the place of `\\`."""
    place, mark, rest = _LINES.sub("", url).strip().partition("?")
    return place.replace("\\", "/") + mark + rest


def _with_query(url: str, query: Mapping[str, str], variables: Mapping[str, Any]) -> str:
    if not query:
        return url
    parts = urlsplit(url)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    pairs += [(name, render(value, variables, js_string)) for name, value in query.items()]
    return parts._replace(query=urlencode(pairs, safe="*").replace("~", "%7E")).geturl()


def _body(body: Any, variables: Mapping[str, Any], prompt: Any, *, is_json: bool) -> Any:
    """The body with its variables; what a request with JSON is made of is data."""
    known = {**variables, "prompt": prompt}
    if not is_json:
        return None if body is None else render(body, known, js_string)
    if isinstance(body, str):
        found, is_data = parsed(body)
        body = found if is_data else body
    if isinstance(prompt, dict | list):
        return {**_by_name(body), **_by_name(prompt)}
    return _json_body(body, known)


def _by_name(value: Any) -> dict[str, Any]:
    """Data by name, as JavaScript's `Object.assign` sees it."""
    if isinstance(value, dict):
        return value
    return {str(number): part for number, part in enumerate(value or ())}


def _json_body(body: Any, variables: Mapping[str, Any]) -> Any:
    rendered = render_all(body, variables, js_string)
    if not isinstance(rendered, str):
        return _opened(rendered)
    found, is_data = parsed(rendered)
    if not is_data and rendered.strip().startswith(("{", "[")):
        escaped = {
            name: json.dumps(value, ensure_ascii=False)[1:-1] if isinstance(value, str) else value
            for name, value in variables.items()
        }
        found, is_data = parsed(render(body, escaped, js_string))
    return found if is_data else rendered


def _opened(value: Any) -> Any:
    """Texts in some data that are data themselves, as data."""
    if isinstance(value, dict):
        return {name: _opened(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_opened(part) for part in value]
    if isinstance(value, str) and value.strip().startswith(("{", "[")):
        found, is_data = parsed(value)
        return found if is_data else value
    return value


def parsed(text: str) -> tuple[Any, bool]:
    """The data that a text is, and whether it is some."""
    try:
        return json.loads(text, parse_constant=_no_json), True
    except (ValueError, RecursionError):
        return None, False


def _no_json(name: str) -> Any:
    raise ValueError(name)


def request_code(code: str) -> str:
    """The body of a function of `prompt`, `vars` and `context`, for code that changes the prompt."""
    code = code.strip()
    if _FUNCTION.match(code):
        return f"return ({code})(prompt, vars, context);"
    return code if re.search(r"\breturn\b", code) else f"return ({code});"


def response_code(code: str) -> str:
    """The body of a function of `json`, `text` and `context`, for code that reads a response."""
    code = code.strip()
    return f"return ({code})(json, text, context);" if _FUNCTION.match(code) else f"return ({code});"


def status_code(code: str) -> str:
    """The body of a function of `status`, for code that says whether it is an answer."""
    code = code.strip()
    if "=>" in code or code.startswith("function"):
        return f"return Promise.resolve(({code})(status)).then(Boolean);"
    return f"return Boolean({code});"
