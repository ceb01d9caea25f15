"""Containers of images that `tools/podman.sh` builds, on a machine that has an engine and the images."""

from __future__ import annotations

import pytest

from soundstage.containers import InContainer
from soundstage.drivers import isolation_problem


def image(name: str) -> InContainer:
    """A container of an image that `tools/podman.sh` builds, on a machine that has an engine and the image."""
    chosen = InContainer(name)
    problem = isolation_problem(chosen)
    if problem is not None:
        pytest.skip(str(problem))
    return chosen


@pytest.fixture(scope="session")
def busybox() -> InContainer:
    """A container with a shell and little else."""
    return image("soundstage/busybox")


@pytest.fixture(scope="session")
def debian() -> InContainer:
    """A container with Debian, Python and git."""
    return image("soundstage/debian")
