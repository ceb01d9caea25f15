"""The only listening sockets: a loopback HTTP and WebSocket server, and a proxy that lets nothing out."""

from soundstage.net._closed import AllowedHost, ClosedSet, Egress
from soundstage.net._egress import EgressProxy
from soundstage.net._exchange import Exchange, HttpRequest
from soundstage.net._http import MAX_BODY
from soundstage.net._listeners import Listener, announce, listeners_of
from soundstage.net._server import BODY_WITHIN, HEAD_WITHIN, LOOPBACK, HttpServer
from soundstage.net._websocket import WebSocket, WebSocketClosed

__all__ = [
    "BODY_WITHIN",
    "HEAD_WITHIN",
    "LOOPBACK",
    "MAX_BODY",
    "AllowedHost",
    "ClosedSet",
    "Egress",
    "EgressProxy",
    "Exchange",
    "HttpRequest",
    "HttpServer",
    "Listener",
    "WebSocket",
    "WebSocketClosed",
    "announce",
    "listeners_of",
]
