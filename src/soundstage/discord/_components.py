"""Buttons, selects and forms as a user sees them. Pure.

Source: https://discord.com/developers/docs/components/reference
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from soundstage.errors import ExpectationError

BUTTON: Final = 2
STRING_SELECT: Final = 3
TEXT_INPUT: Final = 4
USER_SELECT: Final = 5
ROLE_SELECT: Final = 6
MENTIONABLE_SELECT: Final = 7
CHANNEL_SELECT: Final = 8
SELECTS: Final = (STRING_SELECT, USER_SELECT, ROLE_SELECT, MENTIONABLE_SELECT, CHANNEL_SELECT)
_LINK: Final = 5  # the style of a button that only opens a page

Component = dict[str, Any]


def walk(components: Sequence[Component]) -> Iterator[Component]:
    """All components, at any depth, in the order in which they are shown."""
    for component in components:
        yield component
        inner = [component[key] for key in ("component", "accessory") if key in component]
        yield from walk([*(component.get("components") or ()), *inner])


def button(components: Sequence[Component], what: str) -> Component | None:
    """The button with a label, an emoji or a `custom_id`."""
    for component in walk(components):
        if component.get("type") == BUTTON and what in button_names(component):
            return component
    return None


def button_names(component: Component) -> tuple[str, ...]:
    """The names by which a user or a test may call a button."""
    emoji = (component.get("emoji") or {}).get("name")
    return tuple(str(name) for name in (component.get("label"), component.get("custom_id"), emoji) if name)


def buttons(components: Sequence[Component]) -> list[str]:
    """The buttons that are there, for messages."""
    return [
        button_names(item)[0]
        for item in walk(components)
        if item.get("type") == BUTTON and button_names(item)
    ]


def usable(component: Component) -> Component:
    """The component, if a user can use it.

    Raises:
        ExpectationError: if it is disabled, or a link, which tells the bot nothing.
    """
    name = (*button_names(component), component.get("placeholder") or "it")[0]
    if component.get("disabled"):
        raise ExpectationError(f"{name!r} cannot be used", expected="it is enabled", seen="it is disabled")
    if component.get("type") == BUTTON and component.get("style") == _LINK:
        raise ExpectationError(
            f"the button {name!r} only opens a page",
            seen=str(component.get("url")),
            hint="the bot is not told",
        )
    return component


def selects(components: Sequence[Component]) -> list[Component]:
    """The menus that are there."""
    return [item for item in walk(components) if item.get("type") in SELECTS]


def menu(components: Sequence[Component], what: str | None) -> Component | None:
    """The menu with a `custom_id` or placeholder; the only one, if none is named."""
    found = selects(components)
    if what is None:
        return found[0] if len(found) == 1 else None
    return next((item for item in found if what in (item.get("custom_id"), item.get("placeholder"))), None)


def chosen(component: Component, wanted: Sequence[str]) -> list[str]:
    """The values of the options of a menu, by label or value.

    Raises:
        ExpectationError: if there is no such option, or if they are too few or too many.
    """
    options = component.get("options") or []
    values: list[str] = []
    for name in wanted:
        found = [item["value"] for item in options if name in (item.get("label"), item.get("value"))]
        if not found:
            labels = ", ".join(repr(item.get("label")) for item in options)
            raise ExpectationError(f"the menu has no option {name!r}", seen=labels or "no option at all")
        values.append(found[0])
    check_number(component, len(values))
    return values


def check_number(component: Component, count: int) -> None:
    """Go on if a menu takes that many values.

    Raises:
        ExpectationError: if it does not.
    """
    least, most = component.get("min_values", 1), component.get("max_values", 1)
    if not least <= count <= most:
        raise ExpectationError(
            "the menu does not take that many values", expected=f"{least} to {most}", seen=str(count)
        )


def filled(components: Sequence[Component], values: dict[str, str]) -> list[Component]:
    """A form as it is sent in: its components with what the user typed, by label or `custom_id`.

    Raises:
        ExpectationError: if a field that is named is not there, or a required one was not filled in.
    """
    left = dict(values)
    rows = [_filled_row(row, left) for row in components]
    if left:
        names = [names_of(row)[-1] for row in components if names_of(row)]
        raise ExpectationError(
            f"the form has no field {next(iter(left))!r}", seen=", ".join(names) or "no field at all"
        )
    return rows


def names_of(row: Component) -> list[str]:
    """The names of the fields of a row: `custom_id`, and the label in or around it."""
    fields = [item for item in walk([row]) if item.get("type") == TEXT_INPUT]
    return [
        str(name)
        for item in fields
        for name in (item.get("custom_id"), item.get("label") or row.get("label"))
        if name
    ]


def _filled_row(row: Component, left: dict[str, str]) -> Component:
    def fill(item: Component) -> Component:
        if item.get("type") != TEXT_INPUT:
            return {"type": item.get("type"), "id": item.get("id", 0)}
        value = next((left.pop(name) for name in names_of(row) if name in left), item.get("value"))
        if not value and item.get("required", True):
            raise ExpectationError(f"the field {names_of(row)[-1]!r} of the form must be filled in")
        return {
            "type": TEXT_INPUT,
            "id": item.get("id", 0),
            "custom_id": item["custom_id"],
            "value": value or "",
        }

    sent: Component = {"type": row.get("type"), "id": row.get("id", 0)}
    if "component" in row:
        return sent | {"component": fill(row["component"])}
    return sent | {"components": [fill(item) for item in row.get("components") or ()]}
