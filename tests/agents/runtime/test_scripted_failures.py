"""An exception that a script has as a reply."""

from __future__ import annotations

import pytest

from soundstage.errors import ProviderError


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (TimeoutError("too slow"), "status 500: too slow"),
        (ValueError(), "status 500: ValueError"),
        (ProviderError("busy", status=529), "status 529: busy"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("field", [True, False], ids=["error=", "alone"])
def test_an_exception_in_a_script_is_a_failure_as_data(work, script, error, said, field):
    script.on(times=1).reply(error=error) if field else script.on(times=1).reply(error)
    outcome = work(script).outcome
    assert not outcome.success
    assert said in outcome.error
