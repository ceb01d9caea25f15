"""How one model request differs from another, and one run from another, each difference with a named cause.

Replays, `soundstage diff` and checks of freshness ask the same question: is this the request that was recorded, and if
not, why not. `differences(recorded, seen)` lists all that differs, the likely cause of the rest first; each entry names
its cause, its place and both sides. `digest_of` is the quick answer to "the same or not", `sketch_of` and `nearness`
find the recorded request that comes nearest, and `unified` shows a list of differences to a person.

Ids of calls, who asks, the order of the tools on offer and settings that name the sender are not compared. What else
changes from run to run (times, paths, ids in texts) is the caller's to take out: `normalise` is a function from text to
text that all texts of both requests go through; `VOLATILE_SHAPES` are the shapes of such texts, `RUN_FOLDER` is
one of them. `differing_values` has both sides whole.

`compare_runs` finds the first step at which two runs part, `diff_runs` does it with two files, as `soundstage diff`;
`context_of` tells what a model was given at a step, as `soundstage show --context`. All but `diff_runs` is pure.

    >>> from soundstage.differences import differences
    >>> from soundstage.messages import ModelRequest, system, user
    >>> old = ModelRequest(model="m", messages=(system("You are brief."), user("hello")))
    >>> new = ModelRequest(model="m", messages=(system("You are kind."), user("hello")))
    >>> print(differences(old, new)[0])
    system prompt edited: messages[0] system, part 1: recorded 'You are brief.', seen 'You are kind.'
"""

from soundstage.wings import lazy_window

__getattr__, __dir__, __all__ = lazy_window(__name__, __file__)
