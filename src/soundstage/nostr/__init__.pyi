from ._events import (
    NostrAnswered as NostrAnswered,
)
from ._events import (
    NostrAuthenticated as NostrAuthenticated,
)
from ._events import (
    NostrConnectionChanged as NostrConnectionChanged,
)
from ._events import (
    NostrEventReceived as NostrEventReceived,
)
from ._events import (
    NostrEventRefused as NostrEventRefused,
)
from ._events import (
    NostrEventSent as NostrEventSent,
)
from ._events import (
    NostrFaultChanged as NostrFaultChanged,
)
from ._events import (
    NostrMessageRefused as NostrMessageRefused,
)
from ._events import (
    NostrSubscriptionChanged as NostrSubscriptionChanged,
)
from ._record import NostrEvent as NostrEvent
from ._relay import NostrRelay as NostrRelay
from ._user import NostrUser as NostrUser
from ._virtual import (
    NostrConnection as NostrConnection,
)
from ._virtual import (
    NostrStream as NostrStream,
)
from ._virtual import (
    Published as Published,
)
from ._virtual import (
    SubscriptionRefused as SubscriptionRefused,
)
from ._virtual import (
    VirtualNostrRelay as VirtualNostrRelay,
)
