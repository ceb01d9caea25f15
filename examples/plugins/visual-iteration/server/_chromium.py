"""Takes pictures with Chromium, without a window and without a way out.

The browser gets a profile that is thrown away. Names of other machines do not resolve in it, whatever a page
asks for, and what browsers fetch on their own is switched off.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

WITHIN = 20.0  # seconds for a try
TRIES = 2  # a browser that is started on a busy machine hangs once in a while
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
OPTIONS = (
    "--headless",
    "--disable-gpu",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
    "--force-color-profile=srgb",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--metrics-recording-only",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE localhost , EXCLUDE 127.0.0.1 , EXCLUDE [::1]",
)


class BrowserError(Exception):
    """No picture: there is no browser, or it did not make one."""


def find() -> str:
    """The browser: $BROWSER_TOOLS_CHROMIUM, else one in PATH."""
    named = os.environ.get("BROWSER_TOOLS_CHROMIUM")
    found = named or next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        raise BrowserError(
            "Chromium is not installed; install it (apt install chromium) or set BROWSER_TOOLS_CHROMIUM"
        )
    return found


def capture(url: str, file: Path, width: int, height: int) -> None:
    """Write a picture of a page to a file."""
    file.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="browser-tools-", ignore_cleanup_errors=True) as profile:
        own = [f"--user-data-dir={profile}", f"--window-size={width},{height}", f"--screenshot={file}"]
        sandbox = (
            ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        )  # it refuses root otherwise
        said = _run([find(), *OPTIONS, *sandbox, *own, url], profile, file)
    if not file.is_file():
        raise BrowserError(f"Chromium made no picture of {url}:\n{said[-800:]}")


def _run(command: list[str], home: str, file: Path) -> str:
    """The browser's output; one that hangs is ended, and started once more if there is no picture yet."""
    for _ in range(TRIES):
        said = _once(command, home)
        if said is not None:
            return said
        if file.is_file():
            return ""
    raise BrowserError(f"Chromium did not finish within {WITHIN:g} seconds, {TRIES} times")


def _once(command: list[str], home: str) -> str | None:
    """The browser's output, or `None` if it does not end."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "HOME": home},
            start_new_session=True,  # it starts helpers, which end with it
        )
    except OSError as error:
        raise BrowserError(f"Chromium cannot be started: {error}") from None
    try:
        said, _ = process.communicate(timeout=WITHIN)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):  # all of it is gone
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return said.decode("utf-8", "replace")
