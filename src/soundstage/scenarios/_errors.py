"""Errors of recordings: the test or its recording is wrong. A replay that differs raises `ReplayMismatchError`."""

from __future__ import annotations

from soundstage.errors import ScriptError


class FixtureError(ScriptError):
    """Raised when a recording lacks a file, or a file of it cannot be read."""


class FixtureDriftError(FixtureError):
    """Raised when the files of a recording are not those that its checksum was made of."""


class ScenarioVersionError(ScriptError):
    """Raised when a recording was made by another SDK, of another version of its scenario or another workspace."""


class ScenarioNotFoundError(ScriptError, LookupError):
    """Raised when there is no recording, or no definition, of a name. Also a `LookupError`."""


class RecordingIncompleteError(ScriptError):
    """Raised when a run that was to be recorded has not all that a recording needs. Nothing is written."""
