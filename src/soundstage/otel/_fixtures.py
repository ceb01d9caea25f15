"""The fixture of pytest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from soundstage.host import Setup
    from soundstage.otel import OtlpReceiver


@pytest.fixture
def otlp(stage: Setup) -> OtlpReceiver:
    """Receives OpenTelemetry spans on loopback and adds them to the trace; `.environment()` for programs."""
    from soundstage.otel import OtlpReceiver

    return stage.add_server(OtlpReceiver)
