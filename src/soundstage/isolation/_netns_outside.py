"""The other end of the interface that leads out of a program's network: what comes is put on record and refused."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import OrderedDict
from typing import Final

from soundstage.isolation._netns_packets import Attempt, attempt_of, read_packet, refusal
from soundstage.journal import EgressTried, Journal

FLOWS: Final = 1024  # attempts that are remembered, so that what belongs to one is told once
_PACKET: Final = 65536
_AT_ONCE: Final = 256  # packets, then it is the others' turn


class Outside:
    """All that a network has outside of itself. Reads by itself while it is open.

    Args:
        device: the descriptor of a TUN device; closed by `close`.
        journal: where `EgressTried` events go.
        name: how the journal calls it.
    """

    def __init__(self, device: int, journal: Journal, name: str) -> None:
        self._device = device
        self._journal = journal
        self._name = name
        self._flows: OrderedDict[Attempt, None] = OrderedDict()
        asyncio.get_running_loop().add_reader(device, self.read)

    def read(self) -> None:
        """Put on record, and refuse, what programs have sent so far."""
        with contextlib.suppress(BlockingIOError):
            for _ in range(_AT_ONCE if self._device >= 0 else 0):
                self._refuse(os.read(self._device, _PACKET))

    def _refuse(self, raw: bytes) -> None:
        packet = read_packet(raw)
        if packet is None:
            return
        attempt = attempt_of(packet)
        if attempt is not None and attempt not in self._flows:
            self._remember(attempt)
            tried = EgressTried(host=attempt.host, port=attempt.port, method=attempt.method)
            self._journal.append(tried, source=self._name)
        answer = refusal(packet)
        if answer is not None:
            with contextlib.suppress(OSError):  # the interface has gone with its last program
                os.write(self._device, answer)

    def _remember(self, attempt: Attempt) -> None:
        self._flows[attempt] = None
        if len(self._flows) > FLOWS:
            self._flows.popitem(last=False)

    def close(self) -> None:
        """Read what is there, and let go of it. Harmless when repeated."""
        if self._device >= 0:
            self.read()
            asyncio.get_running_loop().remove_reader(self._device)
            os.close(self._device)
            self._device = -1
