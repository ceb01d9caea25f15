"""The only listening sockets: a loopback HTTP and WebSocket server, and a proxy that lets nothing out."""

from soundstage.net._closed import ClosedSet, Egress, Way
from soundstage.net._egress import EgressProxy
from soundstage.net._listeners import Listener, announce, listeners_of
from soundstage.net._server import (
    BODY_WITHIN,
    HEAD_WITHIN,
    LOOPBACK,
    Exchange,
    Handler,
    HttpRequest,
    HttpServer,
)
from soundstage.net._websocket import WebSocket, WebSocketClosed, WebSocketHandler

__all__ = [
    "BODY_WITHIN",
    "HEAD_WITHIN",
    "LOOPBACK",
    "ClosedSet",
    "Egress",
    "EgressProxy",
    "Exchange",
    "Handler",
    "HttpRequest",
    "HttpServer",
    "Listener",
    "Way",
    "WebSocket",
    "WebSocketClosed",
    "WebSocketHandler",
    "announce",
    "listeners_of",
]
