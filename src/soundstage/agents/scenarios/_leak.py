"""Whether conversations keep to themselves what they were told."""

from __future__ import annotations

from collections.abc import Sequence

from soundstage.errors import ExpectationError, ScriptError
from soundstage.trace import Trace, checking_now


def assert_no_leak(traces: Sequence[Trace], words: Sequence[str]) -> None:
    """Assert that what belongs to one conversation is in no request of another.

    Args:
        traces: one for each conversation.
        words: what each conversation alone knows, in the same order; upper and lower case are alike.

    Raises:
        ExpectationError: naming the word, and the request that has it.
        ScriptError: if there are not as many words as traces, or a conversation never uses its own.
    """
    __tracebackhide__ = True
    if len(traces) != len(words):
        raise ScriptError("each conversation has one word", seen=f"{len(traces)} traces, {len(words)} words")
    for own, trace in enumerate(traces):
        told = [
            (step, "\n".join(message.everything for message in step.request.messages).casefold())
            for step in trace.steps
        ]
        if not any(words[own].casefold() in text for _, text in told):
            raise ScriptError(f"no request of its own conversation has the word {words[own]!r}")
        for other, word in enumerate(words):
            found = next((step for step, text in told if other != own and word.casefold() in text), None)
            if found is not None:
                raise ExpectationError(
                    f"a conversation knows what only another one was told: {word!r}",
                    expected=f"{words[own]!r} alone",
                    seen=f"request @{found.position} of {found.agent} in {found.conversation}",
                    hint="look for state that conversations share",
                )


check_no_leak = checking_now(assert_no_leak)
