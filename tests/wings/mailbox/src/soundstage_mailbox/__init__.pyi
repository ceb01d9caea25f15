from ._events import MailReceived as MailReceived
from ._events import MailRefused as MailRefused
from ._world import Mailbox as Mailbox
