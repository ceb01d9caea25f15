"""Reports of tests without secrets: what fails goes to the terminal, to junit.xml and to other plugins from here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def clean_report(report: pytest.TestReport, clean: Callable[[str], str]) -> None:
    """Blank secrets in the error and in what was captured.

    Args:
        report: of one phase of a test.
        clean: gives a text without its secrets.
    """
    report.sections[:] = [(title, clean(text)) for title, text in report.sections]
    report.longrepr = _cleaned(report.longrepr, clean)


def _cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    """`value` with its texts cleaned, however deep they are: pytest's records of an error are changed in place."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        parts = [_cleaned(part, clean) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    if type(value).__module__.startswith("_pytest."):
        for name, part in vars(value).items():
            if isinstance(part, str | list | tuple) or type(part).__module__.startswith("_pytest."):
                setattr(value, name, _cleaned(part, clean))
    return value
