"""The summary marker: a bold heading on a line of its own, as models write it above a piece of thinking."""

from __future__ import annotations

import re
from typing import Final

# **bold text with content**, then a blank line or a Windows line end
MARKER: Final = re.compile(r"\*\*[^*\r\n]*[^*\s][^*\r\n]*\*\*(?:\n\n|\r\n)")
