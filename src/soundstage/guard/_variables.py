"""Variables of this process that a run replaces while it lasts.

Runs may overlap and end in any order: each has its values in a layer, the newest layer counts, and the value from
before the first one comes back with the last. What we do on a test's behalf asks for the real values.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

_lock: Final = threading.RLock()
_layers: Final[list[dict[str, str | None]]] = []
_before: Final[dict[str, str | None]] = {}


def put(values: Mapping[str, str | None]) -> Callable[[], None]:
    """Set variables, or remove those whose value is `None`. Returns what undoes it; harmless when repeated."""
    layer = dict(values)
    with _lock:
        for name in layer:
            _before.setdefault(name, os.environ.get(name))
        _layers.append(layer)
        _apply(layer)
    return lambda: _take_away(layer)


def _take_away(layer: dict[str, str | None]) -> None:
    with _lock:
        kept = [one for one in _layers if one is not layer]
        if len(kept) == len(_layers):
            return
        _layers[:] = kept
        _apply({name: _newest(name) for name in layer})
        for name in layer:
            if not any(name in one for one in _layers):
                _before.pop(name, None)


def _newest(name: str) -> str | None:
    """The value that counts now."""
    for layer in reversed(_layers):
        if name in layer:
            return layer[name]
    return _before.get(name)


def _apply(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def real_variable(name: str) -> str | None:
    """A variable as the user has set it, before a run replaced it or, in the test, afterwards."""
    with _lock:
        seen = os.environ.get(name)
        return _before[name] if name in _before and seen == _newest(name) else seen


def real_environment() -> dict[str, str]:
    """All variables as the user has set them."""
    with _lock:
        names = {*os.environ, *_before}
        values = {name: real_variable(name) for name in sorted(names)}
    return {name: value for name, value in values.items() if value is not None}


def real_proxy(url: str) -> str | None:
    """The proxy that the user's variables name for a URL."""
    proxies = {
        name.lower().removesuffix("_proxy"): value
        for name, value in real_environment().items()
        if name.lower().endswith("_proxy") and value
    }
    parts = urlsplit(url)
    if proxy_bypass_environment(parts.netloc, proxies):
        return None
    return proxies.get(parts.scheme) or proxies.get("all")
