"""The command of this wing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def mails(
    journal: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A journal file.")],
) -> None:
    """List the mails of a journal.

    Example: `soundstage mails run.jsonl`
    """
    from soundstage.journal import read_journal
    from soundstage_mailbox import MailReceived

    for record in read_journal(journal):
        if isinstance(record.event, MailReceived):
            typer.echo(f"{record.position} {record.event}")
