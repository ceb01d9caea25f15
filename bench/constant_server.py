"""The limit: uvicorn with httptools and uvloop, bare; a raw ASGI app that sends constant bytes.

    python constant_server.py FILE MEDIA_TYPE

It reads the whole request first, as any server of models has to.
"""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import Any

import uvicorn


def constant_app(body: bytes, media_type: str) -> Any:
    """An ASGI app that answers everything with `body`."""
    headers = [(b"content-type", media_type.encode()), (b"content-length", str(len(body)).encode())]
    start = {"type": "http.response.start", "status": 200, "headers": headers}
    end = {"type": "http.response.body", "body": body}

    async def app(_: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await send(start)
        await send(end)

    return app


def main(path: str, media_type: str) -> None:
    """Serve until a signal comes."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
    config = uvicorn.Config(
        constant_app(Path(path).read_bytes(), media_type),
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
    )
    print(f"serving http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main(*sys.argv[1:])
