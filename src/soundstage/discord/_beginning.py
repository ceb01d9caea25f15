"""The first state of a virtual Discord: a guild with its roles, channels and members. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from soundstage.discord._ids import BEGINNING, Snowflakes
from soundstage.discord._permissions import OF_BOT, USUAL
from soundstage.discord._records import Channel, ChannelType, Member, Role, User
from soundstage.discord._state import Guild, State
from soundstage.errors import ScriptError

OWNER = "owner"


def first_state(
    snowflakes: Snowflakes, *, guild: str, bot: str, channels: Iterable[str], users: Iterable[str]
) -> State:
    """The state at the beginning. Its ids are the same in every run.

    Raises:
        ScriptError: if a name is empty or given twice.
    """
    owner = User(id=snowflakes.fixed(), name=OWNER)
    account = User(id=snowflakes.fixed(), name=bot, bot=True)
    state = State(Guild(snowflakes.fixed(), guild, owner.id), account)
    everyone = Role(id=state.guild.id, name="@everyone", permissions=USUAL, is_everyone=True)
    own_role = Role(id=snowflakes.fixed(), name=bot, permissions=OF_BOT, position=1, managed=True)
    state.roles = {role.id: role for role in (everyone, own_role)}
    state.users[owner.id] = owner
    state.members[owner.id] = Member(user_id=owner.id, joined_at=BEGINNING)
    state.members[account.id] = Member(user_id=account.id, joined_at=BEGINNING, roles=(own_role.id,))
    for place, name in enumerate(_distinct("channel", (name.removeprefix("#") for name in channels))):
        number = snowflakes.fixed()
        state.channels[number] = Channel(
            id=number, type=ChannelType.TEXT, created_at=BEGINNING, name=name, position=place
        )
    for name in _distinct("user", (OWNER, bot, *users))[2:]:
        person = User(id=snowflakes.fixed(), name=name)
        state.users[person.id] = person
        state.members[person.id] = Member(user_id=person.id, joined_at=BEGINNING)
    return state


def _distinct(what: str, names: Iterable[str]) -> list[str]:
    given = list(names)
    for name in given:
        if not name.strip() or given.count(name) > 1:
            raise ScriptError(
                f"{name!r} cannot be the name of a {what}",
                expected="a name that no other has",
                seen=repr(given),
            )
    return given
