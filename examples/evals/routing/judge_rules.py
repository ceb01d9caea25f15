"""Stands in for a judging model where there is no provider: it looks for the words that only a right answer has."""

from __future__ import annotations

import json
import re

from soundstage.messages import ModelRequest
from soundstage.models import Reply, Script

DIFFERENCES = r"(lists? (can be changed|(is|are) mutable)|tuples? (can ?not be changed|(is|are) immutable))"


def judged(request: ModelRequest) -> Reply:
    """A verdict on the last part of the transcript, the answer, with the line that speaks for it."""
    parts = re.findall(r'<part kind="[^"]*">\n(.*?)\n</part>', request.messages[-1].text, re.DOTALL)
    lines = parts[-1].splitlines()
    told = next((line for line in lines if re.search(DIFFERENCES, line, re.IGNORECASE)), "")
    plan = '"tasks"' in parts[-1]
    criteria = {
        "plain": {"score": 0.0 if plan else 1.0, "evidence": [] if plan else [told or lines[0]]},
        "answered": {"score": 1.0 if told else 0.0, "evidence": [told] if told else []},
    }
    score = sum(one["score"] for one in criteria.values()) / 2
    reasoning = "A true difference is told." if told else "No difference is told."
    return Reply(
        text=json.dumps({"passed": score == 1, "score": score, "criteria": criteria, "reasoning": reasoning})
    )


script = Script()
script.on(purpose="judge").reply(judged)
