"""The record of this wing, which the package's entry point names."""

from soundstage.wings import Wing

WING = Wing(
    name="mailbox",
    events=("soundstage_mailbox._events",),
    fixtures=("soundstage_mailbox._fixtures",),
    real_time=("mailbox",),
    commands={"mails": "soundstage_mailbox._commands:mails"},
)
