"""A wing in a package of somebody else: built, installed, and then everywhere, without a line changed in the core."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent / "mailbox"

SHOP = """
import os
import smtplib
from email.message import EmailMessage

with smtplib.SMTP(os.environ["SMTP_HOST"], int(os.environ["SMTP_PORT"])) as server:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "shop@example.org", "ann@example.org", "Your order 17"
    mail.set_content("It is on its way. Grüße")
    server.send_message(mail)
"""
TESTS = """
import asyncio
import smtplib
import sys

import pytest
from soundstage import HostBuilder
from soundstage.clock import SystemClock, run
from soundstage.errors import WaitTimeout
from soundstage.testing import InboxProbe, verify_world
from soundstage_mailbox import Mailbox, MailReceived


async def test_a_program_finds_the_mailbox_and_its_mail_is_in_trace_and_journal(mailbox, command, journal, trace):
    program = await command([sys.executable, {shop!r}])
    mail = await mailbox.expect(subject="order", sender="shop@example.org")
    assert mail.text == "It is on its way. Grüße\\n"
    await program.wait()
    await mailbox.expect_nothing(within=0.01)
    assert "Your order 17" in trace().format()
    assert journal.events(MailReceived) == [mail]


async def test_a_mail_that_does_not_come_says_what_came(mailbox):
    with pytest.raises(WaitTimeout, match="no mail at all"):
        await mailbox.expect(subject="order", within=0.01)


def test_a_builder_adds_it_and_keeps_its_options():
    async def body(host):
        box = host.get(Mailbox, "post")
        with pytest.raises(smtplib.SMTPRecipientsRefused):
            await asyncio.to_thread(send, box.port, "bob@example.org")
        assert box.mails == []

    HostBuilder().add(Mailbox, refuses=["bob@example.org"], name="post").with_journal({journal!r}).run(body)


def send(port, recipient, sender="shop@example.org", subject="hello"):
    with smtplib.SMTP("127.0.0.1", port) as server:
        server.sendmail(sender, [recipient], f"Subject: {{subject}}\\r\\n\\r\\nyou")


def test_an_option_that_it_does_not_take_is_named_before_anything_starts():
    with pytest.raises(TypeError, match="refuse.*it takes refuses, within, name"):
        HostBuilder().add(Mailbox, refuse=["bob@example.org"])


def test_it_keeps_what_every_world_keeps():
    async def use(box):
        await asyncio.to_thread(send, box.port, "ann@example.org")

    async def says(box, text, source):
        await asyncio.to_thread(send, box.port, "ann@example.org", f"sender-{{source}}@example.org", text)

    async def expects(box, text, source, within):
        await box.expect(subject=text, sender=f"sender-{{source}}@", within=within)

    run(verify_world(Mailbox, use, InboxProbe(says, expects)), clock=SystemClock())
"""
TYPED = """
from soundstage import HostBuilder
from soundstage.host import Host
from soundstage_mailbox import Mailbox, MailReceived

builder = HostBuilder().add(Mailbox, refuses=["bob@example.org"], within=2.0)
HostBuilder().add(Mailbox, refuse=["bob@example.org"])
HostBuilder().add(Mailbox, within="soon")


async def body(host: Host) -> None:
    mail: MailReceived = await host.get(Mailbox).expect(subject="hello")
    wrong: int = mail.subject
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> dict[str, str]:
    """Variables under which the wheel of the package is installed, in a folder of its own."""
    there = tmp_path_factory.mktemp("site")
    wheels = tmp_path_factory.mktemp("wheels")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", wheels, PACKAGE]
    subprocess.run(build, check=True, capture_output=True)
    [wheel] = wheels.iterdir()
    subprocess.run([*pip, "install", "--no-deps", "--target", there, wheel], check=True, capture_output=True)
    return {**os.environ, "PYTHONPATH": str(there), "MYPYPATH": str(there)}


def started(argv: list[object], environment: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *map(str, argv)],
        env=environment,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


def test_tests_use_it_as_a_fixture_and_in_builders_and_the_command_line_has_its_command(
    environment, tmp_path
):
    shop, journal = tmp_path / "shop.py", tmp_path / "run.jsonl"
    shop.write_text(SHOP)
    (tmp_path / "test_shop.py").write_text(TESTS.format(shop=str(shop), journal=str(journal)))
    done = started(
        ["pytest", "-q", "-p", "no:cacheprovider", "--soundstage-html", tmp_path], environment, tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout

    shown = started(
        ["soundstage.cli", "show", journal, "--html", tmp_path / "page.html"], environment, tmp_path
    )
    assert shown.returncode == 0, shown.stderr
    assert "MailRefused" in (tmp_path / "page.html").read_text()
    helped = started(["soundstage.cli", "--help"], environment, tmp_path)
    assert "List the mails of a journal." in helped.stdout
    listed = started(["soundstage.cli", "mails", journal], environment, tmp_path)
    assert (listed.returncode, listed.stdout) == (0, ""), listed.stderr


def test_editors_and_mypy_know_its_options_and_its_waits(environment, tmp_path):
    (tmp_path / "typed.py").write_text(textwrap.dedent(TYPED))
    done = started(["mypy", "--strict", "--no-incremental", "typed.py"], environment, tmp_path)
    lines = [line.split(": error: ") for line in done.stdout.splitlines() if ": error: " in line]
    assert [place for place, _ in lines] == ["typed.py:7", "typed.py:8", "typed.py:13"], done.stdout
    assert 'Unexpected keyword argument "refuse"' in lines[0][1]
    assert 'incompatible type "str"; expected "float"' in lines[1][1]
