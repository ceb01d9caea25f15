"""The way out for `web_fetch`: a public page as text. What is inside the own network stays out of reach."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from html import unescape
from urllib.parse import urlsplit

import httpx

from soundstage.agents.runtime import ToolError

WITHIN = 20.0  # seconds
LARGEST = 2_000_000  # bytes
REDIRECTS = 5
_UNREAD = re.compile(r"<(script|style|svg|head)\b.*?</\1\s*>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
_BLOCK = re.compile(r"</?(p|div|br|li|tr|h[1-6]|pre|section|article)\b[^>]*>", re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")


async def fetch(url: str) -> str:
    """The text of a page; each redirect is checked like the first address."""
    async with httpx.AsyncClient(timeout=WITHIN, follow_redirects=False) as client:
        for _ in range(REDIRECTS):
            await check_public(url)
            try:
                async with client.stream("GET", url) as response:
                    if response.next_request is None:
                        return await _text(response)
                    url = str(response.next_request.url)
            except httpx.HTTPError as error:
                raise ToolError(f"{url} cannot be fetched: {type(error).__name__}: {error}") from None
    raise ToolError(f"{url} redirects more than {REDIRECTS} times")


async def check_public(url: str) -> None:
    """Refuse an address that is not on the public internet."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ToolError(f"{url} is no address of a page")
    try:
        found = await asyncio.get_running_loop().getaddrinfo(parts.hostname, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ToolError(f"there is no host {parts.hostname}: {error}") from None
    for *_, address in found:
        if not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_global:
            raise ToolError(f"{parts.hostname} is not a public host")


async def _text(response: httpx.Response) -> str:
    body = b""
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > LARGEST:
            break
    text = body[:LARGEST].decode(response.encoding or "utf-8", "replace")
    if "html" in response.headers.get("content-type", ""):
        text = readable(text)
    if response.status_code >= 400:
        raise ToolError(f"status {response.status_code}: {text[:500]}")
    return text


def readable(html: str) -> str:
    """A page without its markup, blank lines at most one."""
    text = unescape(_TAG.sub("", _BLOCK.sub("\n", _UNREAD.sub("", html))))
    lines = (" ".join(line.split()) for line in text.splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
