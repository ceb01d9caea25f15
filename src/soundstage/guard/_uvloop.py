"""uvloop, whose loops ask the system without an audit event: their methods are judged before they do.

They are replaced in the class, so loops that run already are judged, too. uvloop that is imported later is wrapped
when it is there: importing it for its own sake would cost each test run some hundredths of a second.
"""

from __future__ import annotations

import functools
import importlib.util
import socket
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from typing import Any

from soundstage.guard._attempts import EgressAttempt, look_up, question, to_address

Judge = Callable[[EgressAttempt | None], None]


def install(judge: Judge) -> None:
    """Wrap the loops of uvloop, now or when it is imported."""
    if "uvloop" in sys.modules:
        _wrap(sys.modules["uvloop"].Loop, judge)
    else:
        sys.meta_path.insert(0, _UvloopImportHook(judge))


class _UvloopImportHook:
    """Finds nothing itself; makes the import of uvloop wrap its loops."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    def find_spec(self, name: str, *_: Any) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        if name != "uvloop":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("uvloop")
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                load(module)
                _wrap(module.Loop, self._judge)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _wrap(loop: Any, judge: Judge) -> None:
    readers: dict[str, Callable[..., EgressAttempt | None]] = {
        "create_connection": lambda _, host=None, port=None, **__: _to(host, port, "tcp"),
        "getaddrinfo": lambda host, port=0, **_: look_up(host, port),
        "getnameinfo": lambda address, *_: question(*address[:2]),
        "sock_connect": to_address,
        "sock_sendto": lambda sock, _, address: to_address(sock, address),
    }
    for name, reader in readers.items():
        setattr(loop, name, _judged(getattr(loop, name), reader, judge))
    loop.create_datagram_endpoint = _datagrams(loop.create_datagram_endpoint, judge)


def _to(host: Any, port: Any, kind: str) -> EgressAttempt | None:
    """A connection by the loop itself; a socket that is given instead was judged when it was connected."""
    if not host:
        return None
    attempt = look_up(host, port)
    if attempt is not None:
        return attempt
    return question(host, port)._replace(method=kind)


def _judged(
    original: Callable[..., Any], reader: Callable[..., EgressAttempt | None], judge: Judge
) -> Callable[..., Any]:
    @functools.wraps(original)
    async def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        judge(reader(*args, **kwargs))
        return await original(self, *args, **kwargs)

    return method


def _datagrams(original: Callable[..., Any], judge: Judge) -> Callable[..., Any]:
    """Datagrams: to one address that is named here, or to one that each call of `sendto` names."""

    @functools.wraps(original)
    async def create_datagram_endpoint(self: Any, factory: Any, *args: Any, **kwargs: Any) -> Any:
        remote = kwargs.get("remote_addr", args[1] if len(args) > 1 else None)
        if remote is not None:
            judge(_to(remote[0], remote[1], "udp"))
        protocol = factory()
        pair = _GuardedProtocol(protocol, judge)
        await original(self, lambda: pair, *args, **kwargs)
        return pair.transport, protocol

    return create_datagram_endpoint


class _GuardedProtocol:
    """Stands between a transport of uvloop and its protocol; the transport is a type that cannot be changed."""

    def __init__(self, protocol: Any, judge: Judge) -> None:
        self._protocol = protocol
        self._judge = judge
        self.transport: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._protocol, name)

    def connection_made(self, transport: Any) -> None:
        self.transport = _GuardedDatagrams(transport, self._judge)
        self._protocol.connection_made(self.transport)


class _GuardedDatagrams:
    """A datagram transport whose addresses are judged."""

    def __init__(self, transport: Any, judge: Judge) -> None:
        self._transport = transport
        self._judge = judge

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def sendto(self, data: Any, address: Any = None) -> None:
        if isinstance(address, tuple) and self.get_extra_info("socket").family != socket.AF_UNIX:
            self._judge(_to(address[0], address[1], "udp"))
        self._transport.sendto(data, address)
