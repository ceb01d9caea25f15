"""Connections are found by the descriptors of the process."""

from __future__ import annotations

import socket

from soundstage.guard import open_connections


def test_what_this_process_has_opened_is_found_and_what_others_opened_to_it_is_not():
    before = open_connections()
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        accepted, _ = server.accept()
        with accepted:
            new = open_connections().keys() - before.keys()
            (found,) = (open_connections()[name] for name in new)
            assert found.attempt == ("127.0.0.1", server.getsockname()[1], "tcp")
            client.sendall(b"data")
            assert [open_connections()[name].sent - found.sent for name in new] == [1]
    assert open_connections().keys() <= before.keys()
