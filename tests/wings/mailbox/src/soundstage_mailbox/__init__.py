"""A mail box for tests: an SMTP server on loopback, and the mails that the app under test has sent to it.

`HostBuilder().add(Mailbox)` and `host.get(Mailbox)`, or the fixture `mailbox` in pytest.
"""

from soundstage.wings import lazy_window

__getattr__, __dir__, __all__ = lazy_window(__name__, __file__)
