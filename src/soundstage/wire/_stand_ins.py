"""Stand-ins for a user's own variables while a test uses the model server. Pure.

Default clients of the SDKs find an address and a key in their environment. In a test they find ours. A key for anything
else is replaced as well, not removed: an app that needs one to begin begins, and none can be lost, since the
run is closed. Passwords of a test's own database are no keys for an API, and stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_KEYS: Final = re.compile(
    r"(_API_?KEYS?|_API_?TOKEN|_ADMIN_KEY|^HF_TOKEN|^AWS_BEARER_TOKEN_BEDROCK)$", re.IGNORECASE
)

# other ways than a key: what would lead past us, be sent besides our key, or hold a real one
_HIDDEN: Final = re.compile(
    r"""(OPENAI_(ORG_ID|ORGANIZATION|PROJECT_ID|CUSTOM_HEADERS|API_TYPE|WEBHOOK_SECRET|PROXY)
    |AZURE_OPENAI_AD_TOKEN
    |ANTHROPIC_(AUTH_TOKEN|CUSTOM_HEADERS|IDENTITY_TOKEN|IDENTITY_TOKEN_FILE|PROFILE|WORK_SECRET
        |ENVIRONMENT_KEY|WEBHOOK_SIGNING_KEY)
    |GOOGLE_GENAI_USE_(VERTEXAI|ENTERPRISE)
    |GOOGLE_APPLICATION_CREDENTIALS
    )$""",
    re.VERBOSE | re.IGNORECASE,
)

# other names that clients read an address from -> whose format is spoken there
_PLACES: Final = {
    "OPENAI_API_BASE": "OPENAI_BASE_URL",
    "ANTHROPIC_API_URL": "ANTHROPIC_BASE_URL",
    "ANTHROPIC_API_BASE": "ANTHROPIC_BASE_URL",
    "AZURE_OPENAI_ENDPOINT": "GOOGLE_GEMINI_BASE_URL",  # the server's root
    "GEMINI_API_BASE": "GOOGLE_GEMINI_BASE_URL",
    "GOOGLE_VERTEX_BASE_URL": "GOOGLE_GEMINI_BASE_URL",
}


def stand_ins(parent: Mapping[str, str], ours: Mapping[str, str], key: str) -> dict[str, str | None]:
    """The variables to set while a test uses the server; `None` for those to remove.

    Args:
        parent: the variables of the process.
        ours: what points the official packages at the server; set in any case.
        key: what stands in the place of a key.

    Example:
        >>> stand_ins({"GROQ_API_KEY": "real", "ANTHROPIC_AUTH_TOKEN": "real"}, {}, "fake")
        {'GROQ_API_KEY': 'fake', 'ANTHROPIC_AUTH_TOKEN': None}
    """
    return {
        **{name: key for name in parent if _KEYS.search(name)},
        **{name: None for name in parent if _HIDDEN.match(name)},
        **{name: ours[same] for name, same in _PLACES.items() if name in parent and same in ours},
        **ours,
    }
