"""The meaning of an agent's words, without a word-for-word comparison: keywords, stages, suggestions, handled errors.

A real model says the same in other words each time, so these look for concepts. Each returns a frozen result that
is true when it passed, and says in `details` what it found:

    >>> bool(suggested("Next, run /agent-loop:plan.", "/plan"))
    True
    >>> keywords_in("A systematic look at the code", ["systematic", "tests"]).details
    "found 1 of 2: 'systematic'; missing: 'tests'"

None of them passes by accident: an empty list, an empty name and an unknown kind of error are a `ScriptError`.
"""

from soundstage.claude_code.semantics._errors import ERROR_TYPES, ErrorHandling, error_handled
from soundstage.claude_code.semantics._keywords import KeywordsFound, keywords_in
from soundstage.claude_code.semantics._suggestion import Suggestion, suggested
from soundstage.claude_code.semantics._transition import Transition, transition
from soundstage.claude_code.semantics._workflows import WORKFLOWS, StageGraph

__all__ = [
    "ERROR_TYPES",
    "WORKFLOWS",
    "ErrorHandling",
    "KeywordsFound",
    "StageGraph",
    "Suggestion",
    "Transition",
    "error_handled",
    "keywords_in",
    "suggested",
    "transition",
]
