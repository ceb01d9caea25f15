"""The buffer of one stream: chunks in, outputs out. Pure: it knows neither journal nor clock.

No text is lost or doubled: the texts of all outputs, in order, join to those of the chunks, provided that the
batch function and the split policy keep to that too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from soundstage.agents._errors import SettingError
from soundstage.agents._splitters import SplitPolicy
from soundstage.agents._windows import Window, WindowPolicy
from soundstage.journal import Event


class BatchOutput(NamedTuple):
    """The result of a batch function: an output, and a chunk that stays for the next one."""

    output: Event
    remainder: Event | None = None


MakeBatch = Callable[[Sequence[Any]], BatchOutput]


class Windowing(NamedTuple):
    """How chunks of one class become outputs of another.

    Args:
        chunk: leaf type with `text`; `sender` and `stream` are used if it has them.
        output: leaf type with `text`; `sender` is set if it has it.
        window: when to emit.
        splitter: how outputs are cut; not at all, unless given.
        batch: makes an output of all chunks of the buffer. Unless given: all texts, and the last sender that
            is not empty.
    """

    chunk: type[Event]
    output: type[Event]
    window: WindowPolicy
    splitter: SplitPolicy | None = None
    batch: MakeBatch | None = None


class StreamBuffer:
    """The chunks of one stream that are no output yet."""

    def __init__(self, windowing: Windowing) -> None:
        self._windowing = windowing
        self._chunks: list[Any] = []
        self._texts: list[str] = []
        self._length = 0
        self._started = 0.0
        self._emitted: float | None = None

    def add(self, chunk: Any, now: float) -> list[Event]:
        """Take a chunk; the outputs if the policy says that it is time, else none.

        Args:
            chunk: the chunk.
            now: when it came, in seconds on the run's clock.
        """
        if not self._chunks:
            self._started = now
        self._push(chunk)
        if not self._length or not self._windowing.window.emits(self._window()):
            return []
        self._emitted = self._started = now
        return self._emit()

    def flush(self) -> list[Event]:
        """Everything that is left, as outputs; none if nothing is."""
        outputs: list[Event] = []
        while self._length:
            outputs += self._emit()
        self._keep(None)
        return outputs

    def _push(self, chunk: Any) -> None:
        self._chunks.append(chunk)
        self._texts.append(chunk.text)
        self._length += len(chunk.text)

    def _window(self) -> Window:
        lookback = self._windowing.window.lookback
        texts = self._texts if lookback is None else self._texts[-max(lookback, 1) :]
        return Window(tuple(texts), len(self._chunks), self._length, self._started, self._emitted)

    def _emit(self) -> list[Event]:
        """The whole buffer as outputs; a remainder becomes the new buffer."""
        make = self._windowing.batch
        batch = make(tuple(self._chunks)) if make else self._joined()
        before = self._length
        self._keep(batch.remainder)
        if self._length >= before:
            raise SettingError(
                f"the batch function for {self._windowing.chunk.__name__} gives back as much as it got",
                expected=f"a remainder of less than {before} characters",
                seen=f"{self._length} characters",
                hint="return BatchOutput(output) without a remainder when there is nothing to hold back",
            )
        return self._split(batch.output)

    def _keep(self, remainder: Any) -> None:
        self._chunks, self._texts, self._length = [], [], 0
        if remainder is not None and remainder.text:
            self._push(remainder)

    def _joined(self) -> BatchOutput:
        senders = [sender for chunk in self._chunks if (sender := getattr(chunk, "sender", ""))]
        fields = {"text": "".join(self._texts), "sender": senders[-1] if senders else ""}
        output = self._windowing.output
        known = {name: value for name, value in fields.items() if name in output.__struct_fields__}
        return BatchOutput(output(**known))

    def _split(self, output: Any) -> list[Event]:
        return [
            msgspec.structs.replace(output, text=piece)
            for piece in cut(output.text, self._windowing.splitter)
        ]


def cut(text: str, policy: SplitPolicy | None) -> Sequence[str]:
    """The pieces of `text`, or `text` itself as the only one."""
    return (policy.pieces(text) if policy is not None else ()) or (text,)
