"""Rows of CSV as tests: the columns that begin with `__`, and assertions in one line. Pure."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

_EXPECTED: Final = "__expected"
_CONFIG: Final = re.compile(r"__config:__expected(\d*):(\w+)")
_ASSERTION: Final = re.compile(
    r"(?P<type>[a-z][a-z0-9:-]*?)(?:\((?P<threshold>\d+(?:\.\d+)?)\))?(?::\s*(?P<value>.*))?", re.DOTALL
)
_NEAR: Final = frozenset(
    {"cost", "latency", "levenshtein", "rouge-n"}
)  # only these have a threshold in one line
_THRESHOLD: Final = 0.75
_LISTS: Final = ("contains-all", "contains-any", "icontains-all", "icontains-any")
_ALIASES: Final = {"fn": "javascript", "eval": "javascript", "grade": "llm-rubric"}
_FILES: Final = {
    "javascript": re.compile(r"file://.*\.(js|cjs|mjs)(:\w+)?"),
    "python": re.compile(r"file://.*\.py(:\w+)?"),
}


def assertion_of(text: str, known: Callable[[str], bool]) -> dict[str, Any]:
    """An assertion in one line, such as `contains: Paris` or `levenshtein(3): Paris`, `is-json` or `file://check.js`;
    `equals` without a kind."""
    for language, pattern in _FILES.items():
        if pattern.fullmatch(text.strip()):
            return {"type": language, "value": text.strip()}
    found = _ASSERTION.fullmatch(text.strip())
    kind = _ALIASES.get(found["type"], found["type"]) if found else ""
    plain = kind.removeprefix("not-")
    if found is None or not known(plain):
        return {"type": "equals", "value": text}
    value: Any = found["value"]
    if plain in _LISTS:
        value = [part.strip() for part in next(csv.reader([value or ""], skipinitialspace=True))]
    made: dict[str, Any] = {"type": kind}
    if value is not None:
        made["value"] = value
    if plain in _NEAR:
        made["threshold"] = float(found["threshold"] or _THRESHOLD)
    return made


def test_of_row(row: Mapping[str, str], number: int, refuse: Callable[[str, str], None]) -> dict[str, Any]:
    """A row as a test: columns are variables, those that begin with `__` say more."""
    from soundstage.evals.promptfoo._kinds import is_known

    test: dict[str, Any] = {"description": f"Row #{number}", "vars": {}}
    asserts: list[dict[str, Any]] = []
    row = {name.strip(): text for name, text in row.items()}
    for name, text in row.items():
        if name.startswith(_EXPECTED):
            if text.strip():
                asserts.append(assertion_of(text.strip(), is_known))
        elif not name.startswith("__"):
            test["vars"][name] = text
        elif text and not name.startswith("__config:"):
            _special(test, name, text, refuse)
    for name, text in row.items():
        config = _CONFIG.fullmatch(name)
        if config is None or not text:
            continue
        place, threshold = int(config[1] or 1) - 1, _number(text)
        if config[2] != "threshold":
            refuse(name, "only `threshold` can be set by a column")
        elif threshold is None or place < 0:
            refuse(name, f"expected a number, for an assertion from 1; got {text!r}")
        elif place < len(asserts):
            asserts[place]["threshold"] = threshold
    if asserts:
        metric = row.get("__metric", "")
        test["assert"] = [{**one, **({"metric": metric} if metric else {})} for one in asserts]
    return test


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _special(test: dict[str, Any], name: str, text: str, refuse: Callable[[str, str], None]) -> None:
    key = name.removeprefix("__")
    if key == "description":
        test["description"] = text
    elif key in ("prefix", "suffix"):
        test.setdefault("options", {})[key] = text
    elif key == "threshold":
        threshold = _number(text)
        if threshold is None:
            refuse(name, f"expected a number, got {text!r}")
        else:
            test["threshold"] = threshold
    elif key.startswith("metadata:"):
        field = key.removeprefix("metadata:")
        several = field.endswith("[]")
        parts = [part.strip().replace("\\,", ",") for part in re.split(r"(?<!\\),", text)]
        test.setdefault("metadata", {})[field.removesuffix("[]")] = parts if several else text
    elif key != "metric":
        refuse(name, "this column means nothing here")
