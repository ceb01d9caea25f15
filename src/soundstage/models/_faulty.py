"""Faults on schedule: another model's replies, with something going wrong on the call that you name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from soundstage.clock import Clock, running_clock
from soundstage.errors import ScriptError
from soundstage.messages import ModelChunk, ModelRequest
from soundstage.models._play import with_fault
from soundstage.models._protocol import Model, Wrapper, close
from soundstage.models._reply import ErrorSpec, ReplyFault
from soundstage.scripts import in_words


class FaultyModel(Wrapper):
    """Lets calls of another model go wrong.

    Args:
        inner: the model that answers. It is not asked where an error takes the place of the reply.
        faults: what happens on which call, from 1; or one fault for every call. An `ErrorSpec` is an error
            answer, a `ReplyFault` happens on the way: `cut`, `stall`, `garbled`, `empty`.
        clock: whose seconds a stall takes; the running loop's unless given.

    Raises:
        ScriptError: for a call number below 1, or what is no fault.

    Example:
        >>> from soundstage.models import Script, ScriptedModel
        >>> model = FaultyModel(ScriptedModel(Script()), {3: ReplyFault(type="cut", after=2)})
        >>> model.calls
        0
    """

    def __init__(
        self,
        inner: Model,
        faults: Mapping[int, ReplyFault | ErrorSpec] | ReplyFault | ErrorSpec,
        *,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(inner)
        self._every = faults if isinstance(faults, ReplyFault | ErrorSpec) else None
        self._faults = dict(faults) if isinstance(faults, Mapping) else {}
        if self._every is None and not self._faults:
            raise ScriptError("a faulty model needs a fault", expected=_WANTED, seen=in_words(faults))
        for number, fault in self._faults.items():
            _check(number, fault)
        self._clock = clock
        self.calls = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The inner model's reply, or what is scheduled for this call."""
        self.calls += 1
        fault = self._every if self._every is not None else self._faults.get(self.calls)
        if isinstance(fault, ErrorSpec):
            raise fault.exception()
        stream = self.inner.stream(request)
        if fault is not None:
            clock = self._clock if self._clock is not None else running_clock()
            stream = with_fault(stream, fault, clock)
        try:
            async for chunk in stream:
                yield chunk
        finally:
            await close(stream)

    def unused(self) -> list[int]:
        """Calls for which a fault is scheduled and that have not come."""
        return sorted(number for number in self._faults if number > self.calls)


_WANTED = '{3: ReplyFault(type="cut", after=2), 4: ErrorSpec(status=529)}, or one of them for every call'


def _check(number: object, fault: object) -> None:
    if type(number) is not int or number < 1:
        raise ScriptError("calls are counted from 1", expected=_WANTED, seen=in_words(number))
    if not isinstance(fault, ReplyFault | ErrorSpec):
        raise ScriptError(f"call {number} has no fault that is known", expected=_WANTED, seen=in_words(fault))
