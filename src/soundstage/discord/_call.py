"""One request to the REST API, and one row of its table of routes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from soundstage.discord._drafts import Upload, snowflake_in
from soundstage.discord._platform import Platform
from soundstage.discord._problems import invalid
from soundstage.discord._records import Channel, DiscordMessage


class Call(NamedTuple):
    """A request, taken apart.

    Attributes:
        params: the variable parts of the path; those that end in `_id` are numbers.
        query: the parameters after the question mark.
        body: the decoded JSON; an empty object if there is none.
        files: by the name of the form's field.
    """

    platform: Platform
    params: dict[str, Any]
    query: dict[str, str]
    body: Any
    files: dict[str, Upload]

    @property
    def me(self) -> int:
        """The bot, who asks."""
        return self.platform.state.bot.id

    @property
    def channel(self) -> Channel:
        """The channel in the path, or Discord's 404."""
        return self.platform.state.channel(self.params["channel_id"])

    @property
    def message(self) -> DiscordMessage:
        """The message in the path, or Discord's 404."""
        return self.platform.state.message(self.params["channel_id"], self.params["message_id"])

    @property
    def fields(self) -> dict[str, Any]:
        """The body, if it is an object, or Discord's 400."""
        if not isinstance(self.body, dict):
            raise invalid("body", "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
        return self.body

    def text(self, name: str, longest: int) -> str:
        """A text that the body must have, or Discord's 400."""
        value = self.fields.get(name)
        if not isinstance(value, str) or not value:
            raise invalid(name, "BASE_TYPE_REQUIRED", "This field is required")
        if len(value) > longest:
            raise invalid(name, "BASE_TYPE_BAD_LENGTH", f"Must be between 1 and {longest} in length.")
        return value

    def whole(self, name: str, default: int, most: int) -> int:
        """A number in the query, or Discord's 400."""
        value = snowflake_in(self.query.get(name, str(default)))
        if value is None or not 1 <= value <= most:
            raise invalid(name, "NUMBER_TYPE_MAX", f"int value should be between 1 and {most}.")
        return value

    def id_in_query(self, name: str) -> int | None:
        """An id in the query, if it is there."""
        return snowflake_in(self.query.get(name))


Handler = Callable[[Call], Any]


class Route(NamedTuple):
    """One row of the table of routes.

    Attributes:
        method: of HTTP.
        template: the path, with the names of its variable parts in braces, as Discord documents it.
        handler: gives the JSON of the answer; `None` for a 204.
        needs: what the bot must be allowed to do in the channel of the path.
        token: whether the bot's token is needed; where not, the path holds one.
    """

    method: str
    template: str
    handler: Handler
    needs: tuple[str, ...] = ()
    token: bool = True

    @property
    def key(self) -> str:
        """How tests and buckets name the route."""
        return f"{self.method} {self.template}"
