"""A piece of JSON in a message. Pure."""

from __future__ import annotations

import json
from typing import Any

from soundstage.match import preview


def shown(value: Any) -> str:
    """A piece of JSON in a message."""
    return preview(json.dumps(value, ensure_ascii=False))
