"""How one model request differs from another, with a named cause. Pure: requests in, records out.

Replays, `soundstage diff` and checks of freshness ask the same question: is this the request that was recorded, and if
not, why not. `differences(recorded, seen)` lists all that differs, the likely cause of the rest first; each entry names
its cause, its place and both sides. `digest_of` is the quick answer to "the same or not", `sketch_of` and `nearness`
find the recorded request that comes nearest, and `unified` shows a list of differences to a person.

Ids of calls, who asks, the order of the tools on offer and settings that name the sender are not compared. What else
changes from run to run (times, paths, ids in texts) is the caller's to take out: `normalise` is a function from text to
text that all texts of both requests go through; `VOLATILE_SHAPES` are the shapes of such texts, `RUN_FOLDER` is
one of them. `differing_values` has both sides whole.

    >>> from soundstage.messages import ModelRequest, system, user
    >>> old = ModelRequest(model="m", messages=(system("You are brief."), user("hello")))
    >>> new = ModelRequest(model="m", messages=(system("You are kind."), user("hello")))
    >>> print(differences(old, new)[0])
    system prompt edited: messages[0] system, part 1: recorded 'You are brief.', seen 'You are kind.'
"""

from soundstage.differences._compare import differences, differing_values, reply_differences
from soundstage.differences._form import digest_of, message_prints
from soundstage.differences._pairs import MessagePair, message_pairs
from soundstage.differences._shapes import RUN_FOLDER, VOLATILE_SHAPES
from soundstage.differences._sketch import RequestSketch, nearness, sketch_of
from soundstage.differences._text import unified
from soundstage.differences._types import Cause, Difference, DifferingValue, Normaliser

__all__ = [
    "RUN_FOLDER",
    "VOLATILE_SHAPES",
    "Cause",
    "Difference",
    "DifferingValue",
    "MessagePair",
    "Normaliser",
    "RequestSketch",
    "differences",
    "differing_values",
    "digest_of",
    "message_pairs",
    "message_prints",
    "nearness",
    "reply_differences",
    "sketch_of",
    "unified",
]
