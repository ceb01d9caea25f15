"""The bytes of WebSocket clients, right and wrong, and what a server has answered to them."""

from __future__ import annotations

from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.uri import parse_uri

KEY = "dGhlIHNhbXBsZSBub25jZQ=="
ASKS = ("Connection: Upgrade", "Upgrade: websocket", f"Sec-WebSocket-Key: {KEY}", "Sec-WebSocket-Version: 13")


def handshake(path="/", *more, first="GET {} HTTP/1.1", asks=ASKS) -> bytes:
    """The head that opens a WebSocket."""
    return "\r\n".join([first.format(path), "Host: test", *asks, *more, "", ""]).encode("latin-1")


def frame(data=b"", opcode=Opcode.TEXT, *, fin=True, mask=True) -> bytes:
    """One frame of a client."""
    return Frame(opcode, data, fin).serialize(mask=mask)


def goodbye(code=1000) -> bytes:
    """The closing frame of a client."""
    return frame(code.to_bytes(2, "big"), Opcode.CLOSE)


def told(answered: bytes) -> list[tuple[str, bytes]]:
    """The status of the handshake and the frames behind it, read by the library's client.

    Raises:
        AssertionError: if the bytes are no answer of a WebSocket server.
    """
    client = ClientProtocol(parse_uri("ws://test/"))
    client.send_request(client.connect())
    client.key = KEY
    client.data_to_send()
    client.receive_data(answered)
    events = client.events_received()
    assert client.parser_exc is None, (client.parser_exc, answered)
    response, *frames = events
    assert isinstance(response, Response), events
    if response.status_code == 101:
        assert client.handshake_exc is None, client.handshake_exc
    return [
        (str(response.status_code), bytes(response.body)),
        *((each.opcode.name, bytes(each.data)) for each in frames),
    ]
