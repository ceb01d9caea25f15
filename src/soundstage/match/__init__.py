"""The one match algebra: script rules, waits and assertions all use it.

A matcher answers two questions about a value: does it match (`matches`), and if not, why (`explain`).
`matcher(spec)` builds one from what a person would write:

| written                          | matches                                              |
|----------------------------------|------------------------------------------------------|
| `"text"`                         | text that contains it, case-sensitive                |
| `"/pattern/flags"`               | text in which the pattern is found; flags `i m s x`  |
| `["a", "b"]` or `{"any": [..]}`  | at least one of them                                 |
| `{"all": [..]}`                  | every one of them                                    |
| `{"not": ..}`                    | anything but                                         |
| `{"text": "/usr/bin/"}`          | what a plain text means, even if it looks like regex |
| `{"equals": ..}`                 | exactly this value                                   |
| a number, `True`, `False`, `None`| exactly this value; `None` is a missing one          |
| a function                       | values for which it returns a true value             |

No match by accident: a predicate that raises, an empty list, a class where a function should be, and text
compared with a number under a `not` are errors, not results.

    >>> matcher("/auth(entication)?/i").matches("Implement AUTH")
    True
    >>> matcher({"all": ["auth", {"not": "oauth"}]}).explain("use oauth")
    "not 'oauth': the text contains 'oauth'"
"""

from soundstage.match._build import matcher, same_text
from soundstage.match._json import distinct, json_at, objects_in
from soundstage.match._matcher import AllOf, AnyOf, Anything, Matcher, Not, preview
from soundstage.match._repeats import Repeat, repeats
from soundstage.match._text import FLAGS, Contains, Regex, Same
from soundstage.match._values import MISSING, Equals, Fields, Filled, Given, OneMatches, OnPart, Predicate

__all__ = [
    "FLAGS",
    "MISSING",
    "AllOf",
    "AnyOf",
    "Anything",
    "Contains",
    "Equals",
    "Fields",
    "Filled",
    "Given",
    "Matcher",
    "Not",
    "OnPart",
    "OneMatches",
    "Predicate",
    "Regex",
    "Repeat",
    "Same",
    "distinct",
    "json_at",
    "matcher",
    "objects_in",
    "preview",
    "repeats",
    "same_text",
]
