"""The only listening sockets: a loopback HTTP server as a daemon, and a proxy that lets nothing out."""

from soundstage.net._egress import EgressProxy
from soundstage.net._server import LOOPBACK, Exchange, Handler, HttpRequest, HttpServer

__all__ = ["LOOPBACK", "EgressProxy", "Exchange", "Handler", "HttpRequest", "HttpServer"]
