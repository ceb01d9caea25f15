"""The interactions of users that a bot has to answer, as Discord sends them: commands, buttons, menus, forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from soundstage.discord import _components as parts
from soundstage.discord import _interactions as interactions
from soundstage.discord import _options as options
from soundstage.discord import _payloads as payloads
from soundstage.discord._drafts import Upload
from soundstage.discord._interactions import Use
from soundstage.discord._messages import attach
from soundstage.discord._permissions import EVERYTHING
from soundstage.discord._records import DiscordMessage
from soundstage.discord._scene import Scene

ROLE: Final = 8
ATTACHMENT: Final = 11


class Resolved:
    """Turns names into ids, and collects what Discord sends along about them."""

    def __init__(self, scene: Scene, channel_id: int) -> None:
        self._scene = scene
        self._channel_id = channel_id
        self._found: dict[str, dict[str, Any]] = {}

    @property
    def data(self) -> dict[str, Any]:
        """Discord's `resolved`, if anything was."""
        return {"resolved": self._found} if self._found else {}

    def resolve(self, kind: int, value: Any) -> int:
        """The id for a value of an option of this type."""
        if kind == ATTACHMENT:
            return self._file(value)
        name = str(value)
        if kind == options.CHANNEL:
            return self._channel(name)
        if kind == ROLE or (kind == options.MENTIONABLE and name.startswith("@&")):
            return self._role(name.removeprefix("@&"))
        return self._user(name)

    def _put(self, key: str, number: int, payload: dict[str, Any]) -> int:
        self._found.setdefault(key, {})[str(number)] = payload
        return number

    def _user(self, name: str) -> int:
        state, person = self._scene.platform.state, self._scene.person(name)
        member = state.members.get(person.id)
        if member is not None:
            self._put(
                "members", person.id, payloads.member(state, member, with_user=False) | _all_permissions()
            )
        return self._put("users", person.id, payloads.user(person))

    def _channel(self, name: str) -> int:
        channel = self._scene.channel(name)
        payload = payloads.channel(self._scene.platform.state, channel)
        return self._put("channels", channel.id, payload | _all_permissions())

    def _role(self, name: str) -> int:
        number = self._scene.role(name)
        return self._put("roles", number, payloads.role(self._scene.platform.state.roles[number]))

    def _file(self, value: Upload) -> int:
        attachment = attach(self._scene.platform, self._channel_id, [value])[0]
        return self._put("attachments", attachment.id, payloads.attachment(attachment))


def _all_permissions() -> dict[str, str]:
    return {"permissions": str(EVERYTHING)}


def command(
    scene: Scene, found: options.Found, values: Mapping[str, Any], channel_id: int, *, focused: str = ""
) -> Use:
    """A command, run or (with an option that is being typed) completed."""
    resolved = Resolved(scene, channel_id)
    sent = options.encode(found, values, resolved.resolve, focused=focused)
    scope = {"guild_id": str(found.command.guild_id)} if found.command.guild_id else {}
    data = {"id": str(found.command.id), "name": found.command.name, "type": 1, "options": sent}
    name = " ".join((f"/{found.command.name}", *(part for _, part in found.path)))
    shown = {
        key: value if isinstance(value, str | int | float) else _shown(value) for key, value in values.items()
    }
    kind = interactions.COMPLETION if focused else interactions.COMMAND
    return Use(kind, "completion" if focused else "command", name, data | scope | resolved.data, shown)


def _shown(value: Any) -> str:
    return value.filename if isinstance(value, Upload) else repr(value)


def click(component: parts.Component, message: DiscordMessage) -> Use:
    """A button."""
    name = component["custom_id"]
    data = {"custom_id": name, "component_type": parts.BUTTON}
    label = {"label": component["label"]} if component.get("label") else {}
    return Use(interactions.COMPONENT, "button", name, data, label, message)


def select(scene: Scene, component: parts.Component, wanted: Sequence[str], message: DiscordMessage) -> Use:
    """Options of a menu."""
    kind, resolved = component["type"], Resolved(scene, message.channel_id)
    if kind == parts.STRING_SELECT:
        values = parts.chosen(component, wanted)
    else:
        parts.check_number(component, len(wanted))
        values = [str(resolved.resolve(_MENUS[kind], name)) for name in wanted]
    data = {"custom_id": component["custom_id"], "component_type": kind, "values": values}
    shown = {"values": list(wanted)}
    return Use(interactions.COMPONENT, "select", component["custom_id"], data | resolved.data, shown, message)


# type of a menu -> type of a command's option that takes the same
_MENUS: Final = {
    parts.USER_SELECT: options.USER,
    parts.ROLE_SELECT: ROLE,
    parts.MENTIONABLE_SELECT: options.MENTIONABLE,
    parts.CHANNEL_SELECT: options.CHANNEL,
}


def form(sent: Mapping[str, Any], values: dict[str, str], message: DiscordMessage | None) -> Use:
    """A form that is sent in."""
    name = sent["custom_id"]
    data = {"custom_id": name, "components": parts.filled(sent.get("components") or [], values)}
    return Use(interactions.FORM, "form", name, data, dict(values), message)
