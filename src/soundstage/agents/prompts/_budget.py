"""A system prompt out of sections, within a budget of tokens. Pure.

What is most important is taken first. A section is taken whole or not at all, unless cutting is allowed, and a
section that does not fit makes room for a smaller one behind it. The manifest says what became of each. A
section that must be there is an error when it is not: an agent without its instructions is worse than none.

Only the contents count; the headings are a few tokens more.
"""

from __future__ import annotations

import math
from typing import Final, Self

import msgspec

from soundstage.agents._errors import SettingError
from soundstage.errors import ScriptError

CHARACTERS_PER_TOKEN: Final = 3.5
TARGET: Final = 3000
CAP: Final = 4800
PRIORITY: Final = 50
_CUT: Final = "\n[{} more characters are left out]"
_WORTH_CUTTING: Final = 50  # tokens; in less room there is no use for the beginning of a section


class PromptTooLargeError(ScriptError):
    """Raised when a section that must be in the prompt does not fit. `manifest` has the sizes of all."""

    def __init__(self, manifest: PromptManifest, missing: PromptSize) -> None:
        self.manifest = manifest
        super().__init__(
            f"the section {missing.label!r} must be in the prompt, and does not fit",
            expected=f"at most {manifest.cap} tokens",
            seen=manifest.format(),
            hint=f"shorten {missing.label!r}, or make the cap larger: cap={manifest.cap + missing.tokens}",
        )


class PromptSection(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a prompt.

    Args:
        label: its heading, and its name in the manifest.
        content: its text. A blank one is left out.
        priority: the higher, the sooner it is taken.
        required: whether a prompt without it is an error. Such a section is never cut.
    """

    label: str
    content: str
    priority: int = PRIORITY
    required: bool = False


class PromptSize(msgspec.Struct, frozen=True, kw_only=True):
    """The fate of one section: whole, cut, or left out.

    Args:
        label: the section's.
        tokens: estimated; of a section that was cut, what is left of it.
        included: whether it is in the prompt.
        cut: whether only its beginning is.
    """

    label: str
    tokens: int
    included: bool
    cut: bool = False


class PromptManifest(msgspec.Struct, frozen=True, kw_only=True):
    """A list of the sections of a prompt, in and out of it.

    Args:
        sections: in the order in which they were added.
        total: tokens of what is included.
        budget: tokens to aim at.
        cap: tokens that no prompt goes beyond.
    """

    sections: tuple[PromptSize, ...]
    total: int
    budget: int = TARGET
    cap: int = CAP

    @property
    def dropped(self) -> tuple[str, ...]:
        """The labels of sections that have a content and are not in the prompt."""
        return tuple(size.label for size in self.sections if size.tokens and not size.included)

    @property
    def over_budget(self) -> bool:
        """Whether the prompt is larger than what was aimed at."""
        return self.total > self.budget

    def format(self) -> str:
        """The manifest as lines for people."""
        width = max((len(size.label) for size in self.sections), default=0)
        lines = [f"{size.label:<{width}}  {size.tokens:>6}  {_fate(size)}" for size in self.sections]
        return "\n".join([*lines, f"{self.total} tokens of {self.cap}, {self.budget} aimed at"])


class BuiltPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt and what is in it."""

    text: str
    manifest: PromptManifest


class PromptBuilder:
    """Makes a prompt out of sections.

    Args:
        budget: tokens to aim at; the manifest says when the prompt is larger.
        cap: tokens that are never exceeded.
        cut: whether a section that does not fit is cut to the room that is left, instead of left out.

    Raises:
        SettingError: for a budget or a cap that is no positive number.

    Example:
        >>> builder = PromptBuilder(cap=20).add("System", "You are terse.", priority=100, required=True)
        >>> built = builder.add("Project", "x" * 500).build()
        >>> print(built.text)
        ## System
        <BLANKLINE>
        You are terse.
        >>> built.manifest.dropped
        ('Project',)
    """

    def __init__(self, *, budget: int = TARGET, cap: int = CAP, cut: bool = False) -> None:
        if min(budget, cap) < 1:
            raise SettingError("a prompt has room for at least one token", seen=f"budget={budget}, cap={cap}")
        self._sections: tuple[PromptSection, ...] = ()
        self._budget = budget
        self._cap = cap
        self._cut = cut

    def add(self, label: str, content: str, *, priority: int = PRIORITY, required: bool = False) -> Self:
        """Add a section behind those that there are.

        Args:
            label: its heading: one line, different from all others.
            content: its text; a blank one is left out of the prompt.
            priority: the higher, the sooner it is taken; of equals the first.
            required: whether a prompt without it is an error.

        Raises:
            SettingError: for a label that is no heading or that there is already.
        """
        if not label.strip() or len(label.splitlines()) > 1:
            raise SettingError("a section has a label of one line", seen=repr(label))
        if any(section.label == label for section in self._sections):
            raise SettingError(f"there are two sections with the label {label!r}")
        section = PromptSection(label=label, content=content, priority=priority, required=required)
        self._sections = (*self._sections, section)
        return self

    def build(self) -> BuiltPrompt:
        """The prompt: sections in the order in which they were added, each under its heading.

        Raises:
            PromptTooLargeError: if a required section is not in it.
        """
        kept = self._select()
        sizes = tuple(_size(section, kept.get(section.label)) for section in self._sections)
        manifest = PromptManifest(
            sections=sizes,
            total=sum(size.tokens for size in sizes if size.included),
            budget=self._budget,
            cap=self._cap,
        )
        for section, size in zip(self._sections, sizes, strict=True):
            if section.required and not size.included:
                raise PromptTooLargeError(manifest, size)
        included = [section for section in self._sections if section.label in kept]
        text = "\n\n".join(f"## {section.label}\n\n{kept[section.label]}" for section in included)
        return BuiltPrompt(text=text, manifest=manifest)

    def _select(self) -> dict[str, str]:
        """Label -> content of what is taken."""
        kept: dict[str, str] = {}
        room = self._cap
        for section in sorted(self._sections, key=lambda section: -section.priority):
            content: str | None = section.content
            if estimate_tokens(section.content) > room:
                content = cut_text(section.content, room) if self._cut and not section.required else None
            if content is not None and (content.strip() or section.required):
                kept[section.label] = content
                room -= estimate_tokens(content)
        return kept


def estimate_tokens(text: str) -> int:
    """How many tokens a text is, about: 3.5 characters each, rounded up.

    >>> estimate_tokens("12345678")
    3
    """
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


def cut_text(text: str, room: int) -> str | None:
    """The beginning of `text` and a note of what is missing, in at most `room` tokens; None if not worth it."""
    if room < _WORTH_CUTTING:
        return None
    limit = int(room * CHARACTERS_PER_TOKEN)
    kept = limit - len(_CUT.format(len(text)))
    return text[:kept] + _CUT.format(len(text) - kept)


def _size(section: PromptSection, kept: str | None) -> PromptSize:
    if kept is None:
        blank = not section.content.strip()
        tokens = 0 if blank else estimate_tokens(section.content)
        return PromptSize(label=section.label, tokens=tokens, included=False)
    cut = kept != section.content
    return PromptSize(label=section.label, tokens=estimate_tokens(kept), included=True, cut=cut)


def _fate(size: PromptSize) -> str:
    if size.included:
        return "cut" if size.cut else "whole"
    return "dropped" if size.tokens else "empty"
