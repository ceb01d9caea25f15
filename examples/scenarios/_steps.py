"""A script that answers one request after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from soundstage.messages import Usage
from soundstage.models import CallSpec, Script

Calls = tuple[str, Mapping[str, Any]]
OWNER = "the maintainers of Soundstage"


def steps(*replies: tuple[str, *tuple[Calls, ...]], **of: Any) -> Script:
    """A script with these replies, each a text and tool calls. Tokens are said: folders would count in estimates.

    Args:
        replies: in their order.
        of: conditions that all of them have, such as `agent`.
    """
    script = Script()
    for number, (text, *calls) in enumerate(replies, 1):
        made = [CallSpec(name=name, arguments=dict(arguments)) for name, arguments in calls]
        usage = Usage(input_tokens=1000 * number, output_tokens=50)
        script.on(iteration=number, **of).reply(text, tool_calls=made, usage=usage)
    return script
