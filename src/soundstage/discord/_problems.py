"""How Discord says no: statuses, codes and words.

Source: https://discord.com/developers/docs/topics/opcodes-and-status-codes#json
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple


class Problem(NamedTuple):
    """An answer other than success."""

    status: int
    code: int
    message: str


UNAUTHORIZED: Final = Problem(401, 0, "401: Unauthorized")
NO_ROUTE: Final = Problem(404, 0, "404: Not Found")
WRONG_METHOD: Final = Problem(405, 0, "405: Method Not Allowed")
UNKNOWN_APPLICATION: Final = Problem(404, 10002, "Unknown Application")
UNKNOWN_CHANNEL: Final = Problem(404, 10003, "Unknown Channel")
UNKNOWN_GUILD: Final = Problem(404, 10004, "Unknown Guild")
UNKNOWN_MEMBER: Final = Problem(404, 10007, "Unknown Member")
UNKNOWN_MESSAGE: Final = Problem(404, 10008, "Unknown Message")
UNKNOWN_USER: Final = Problem(404, 10013, "Unknown User")
UNKNOWN_WEBHOOK: Final = Problem(404, 10015, "Unknown Webhook")
UNKNOWN_INTERACTION: Final = Problem(404, 10062, "Unknown interaction")
UNKNOWN_COMMAND: Final = Problem(404, 10063, "Unknown application command")
TOO_LARGE: Final = Problem(413, 40005, "Request entity too large")
ACKNOWLEDGED: Final = Problem(400, 40060, "Interaction has already been acknowledged.")
MISSING_ACCESS: Final = Problem(403, 50001, "Missing Access")
NOT_THE_AUTHOR: Final = Problem(403, 50005, "Cannot edit a message authored by another user")
EMPTY: Final = Problem(400, 50006, "Cannot send an empty message")
NO_DMS: Final = Problem(403, 50007, "Cannot send messages to this user")
NOT_TEXT: Final = Problem(400, 50008, "Cannot send messages in a non-text channel")
MISSING_PERMISSIONS: Final = Problem(403, 50013, "Missing Permissions")
BULK_COUNT: Final = Problem(
    400, 50016, "Provided too few or too many messages to delete. Must provide at least 2 and fewer than 100."
)
WRONG_TYPE: Final = Problem(400, 50024, "Cannot execute action on this channel type")
INVALID_TOKEN: Final = Problem(401, 50027, "Invalid Webhook Token")
TOO_OLD: Final = Problem(400, 50034, "You can only bulk delete messages that are under 14 days old.")
INVALID_FORM: Final = Problem(400, 50035, "Invalid Form Body")
WRONG_VERSION: Final = Problem(400, 50041, "Invalid API version provided")
ARCHIVED: Final = Problem(400, 50083, "Thread is archived")
INVALID_JSON: Final = Problem(400, 50109, "The request body contains invalid JSON.")
THREAD_EXISTS: Final = Problem(400, 160004, "A thread has already been created for this message")


class RestRefused(Exception):  # noqa: N818  (it says what happened)
    """Raised by a handler that answers with a problem.

    Args:
        problem: which.
        field: for `INVALID_FORM`, the field that is wrong, with dots between levels.
        code: Discord's name of what is wrong with it.
        message: the same in words.
    """

    def __init__(self, problem: Problem, *, field: str = "", code: str = "", message: str = "") -> None:
        super().__init__(problem.message)
        self.problem = problem
        self.errors: dict[str, Any] | None = None
        if field:
            inner: dict[str, Any] = {"_errors": [{"code": code, "message": message}]}
            for name in reversed(field.split(".")):
                inner = {name: inner}
            self.errors = inner

    @property
    def body(self) -> dict[str, Any]:
        """The JSON of the answer."""
        body: dict[str, Any] = {"message": self.problem.message, "code": self.problem.code}
        return {**body, "errors": self.errors} if self.errors else body


def invalid(field: str, code: str, message: str) -> RestRefused:
    """The answer to a field that is wrong."""
    return RestRefused(INVALID_FORM, field=field, code=code, message=message)
