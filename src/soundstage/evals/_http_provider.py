"""The I/O of a provider that is asked by HTTP: its code on node, its request, redirects, and what is let out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from soundstage.errors import AppError, EgressRefused, EnvironmentProblem
from soundstage.evals._agents import EvalPlace
from soundstage.evals.evaluators._scripts import node_program, node_value
from soundstage.evals.promptfoo._http import (
    HttpSource,
    SentHttpRequest,
    file_of,
    parsed,
    provider_request,
    request_code,
    response_code,
    status_code,
)
from soundstage.evals.promptfoo._reading import FILE
from soundstage.guard import in_this_machine, permitted, real_environment, real_proxy
from soundstage.journal import EgressTried, Journal, Noted

PERMISSION: Final = "SOUNDSTAGE_ALLOW_LIVE"
_CONNECT_WITHIN: Final = 15.0
_REDIRECTS: Final = 20  # as many as node's fetch follows
_USUAL: Final = {"accept": "*/*", "accept-encoding": "gzip, deflate", "user-agent": "soundstage"}
_PORTS: Final = {"http": 80, "https": 443}


async def ask_http(
    source: HttpSource, folder: Path, prompt: str, variables: Mapping[str, Any], place: EvalPlace
) -> Any:
    """The answer of a provider: `{output}` or `{error}`, or whatever else its code has made of the response.

    Raises:
        AppError: if the request cannot be made, or what came of it is no answer.
        EgressRefused: if it is sent on to a host outside, which nobody has allowed.
        EnvironmentProblem: if the provider cannot be reached, or is outside and nobody has allowed it.
    """
    known = {"env": real_environment(), **variables, "prompt": prompt}
    changed: Any = prompt
    if source.transform_request:
        context = {"vars": dict(variables), "prompt": {"raw": prompt, "label": prompt}}
        asked_with = {"prompt": prompt, "vars": {**variables, "prompt": prompt}, "context": context}
        changed = await _value(source.transform_request, request_code, asked_with, folder)
    asked = provider_request(source, known, changed)
    response = await _sent(asked, place.journal)
    status, text = response.status_code, response.content.decode("utf-8-sig", "replace")
    if source.validate_status and not await _value(
        source.validate_status, status_code, {"status": status}, folder
    ):
        raise AppError(f"HTTP call failed with status {status} {response.reason_phrase}: {text}")
    data, _ = parsed(text)
    if not source.transform_response:
        return {"output": data or text}
    told = {
        "data": text,
        "status": status,
        "statusText": response.reason_phrase,
        "headers": dict(response.headers),
        "cached": False,
    }
    given: dict[str, Any] = {"json": data or None, "text": text, "context": {"response": told}}
    value = await _value(source.transform_response, response_code, given, folder)
    return value if isinstance(value, dict) and value.keys() & {"output", "error"} else {"output": value}


async def _value(code: str, body_of: Any, given: Mapping[str, Any], folder: Path) -> Any:
    """The value of JavaScript of the configuration, in place or in a file."""
    file, name = file_of(code) if code.startswith(FILE) else ("", "")
    asked = {
        "code": "" if file else body_of(code),
        "file": str((folder / file).resolve()) if file else "",
        "name": name,
        "given": given,
    }
    value, problem = await node_value(node_program(), asked)
    if problem:
        raise AppError(f"the provider failed: {problem}")
    return value


async def _sent(asked: SentHttpRequest, journal: Journal) -> Any:
    """The response, behind redirects; each address is judged before it is asked."""
    import httpx

    try:
        headers = {**_USUAL, **asked.headers}
        request = httpx.Request(asked.method, asked.url, headers=headers, content=asked.body)
        for hop in range(_REDIRECTS + 1):
            url = str(request.url)
            hosts = _judged(url, journal, redirected=hop > 0)
            async with httpx.AsyncClient(
                trust_env=False,
                proxy=real_proxy(url) if hosts else None,
                timeout=httpx.Timeout(None, connect=_CONNECT_WITHIN),
            ) as client:
                with permitted(hosts):
                    response = await client.send(request)
            shown = request.url.copy_with(query=None, userinfo=b"")
            journal.append(Noted(text=f"{request.method} {shown}: {response.status_code}"), source="agent")
            if response.next_request is None:
                return response
            request = _sent_on(response.next_request, before=request.method)
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError) as error:
        raise AppError(f"the request cannot be made: {error}") from None
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
        raise EnvironmentProblem(
            "the provider cannot be reached",
            seen=f"{type(error).__name__}: {error}",
            hint="start it, and check its url",
        ) from None
    except httpx.HTTPError as error:
        raise AppError(f"the response broke off: {type(error).__name__}: {error}") from None
    raise AppError(f"the request was sent on more than {_REDIRECTS} times")


def _sent_on(request: Any, *, before: str) -> Any:
    """A request behind a redirect; one that has become a GET has no body, and says nothing of one."""
    if request.method != before:
        for name in [name for name in request.headers if name.startswith("content-")]:
            del request.headers[name]
    return request


def _judged(url: str, journal: Journal, *, redirected: bool) -> list[str]:
    """The hosts outside that a request to a URL needs; they have to be allowed, as live models are."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if in_this_machine(host):
        return []
    if os.environ.get(PERMISSION) != "1":
        port = parts.port or _PORTS.get(parts.scheme, 0)
        journal.append(EgressTried(host=host, port=port), source="agent")
        if redirected:
            raise EgressRefused(host, port)
        raise EnvironmentProblem(
            f"the provider is outside of this machine: {host}",
            expected=f"{PERMISSION}=1 in the environment",
            hint="serve it on this machine, or allow live calls",
        )
    proxy = real_proxy(url)
    return [host, *([urlsplit(proxy).hostname or ""] if proxy else [])]
