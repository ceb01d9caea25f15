from ._conversation import DiscordScriptedConversation as DiscordScriptedConversation
from ._discord import Discord as Discord
from ._discordpy import (
    DiscordPyGateway as DiscordPyGateway,
)
from ._discordpy import (
    pointed_at as pointed_at,
)
from ._events import (
    DiscordAnswered as DiscordAnswered,
)
from ._events import (
    DiscordChannelChanged as DiscordChannelChanged,
)
from ._events import (
    DiscordCommandsRegistered as DiscordCommandsRegistered,
)
from ._events import (
    DiscordGatewayChanged as DiscordGatewayChanged,
)
from ._events import (
    DiscordInteracted as DiscordInteracted,
)
from ._events import (
    DiscordMessageChanged as DiscordMessageChanged,
)
from ._events import (
    DiscordRateLimited as DiscordRateLimited,
)
from ._events import (
    DiscordReacted as DiscordReacted,
)
from ._events import (
    DiscordTyped as DiscordTyped,
)
from ._of_host import discord_of as discord_of
from ._records import (
    Attachment as Attachment,
)
from ._records import (
    Channel as Channel,
)
from ._records import (
    DiscordMessage as DiscordMessage,
)
from ._records import (
    User as User,
)
from ._seam import (
    ChannelNotFoundError as ChannelNotFoundError,
)
from ._seam import (
    DiscordGateway as DiscordGateway,
)
from ._seam import (
    DiscordInboundMessage as DiscordInboundMessage,
)
from ._state import Guild as Guild
from ._user import DiscordUser as DiscordUser
from ._virtual import (
    SentMessage as SentMessage,
)
from ._virtual import (
    VirtualChannel as VirtualChannel,
)
from ._virtual import (
    VirtualDiscordGateway as VirtualDiscordGateway,
)
from ._virtual import (
    VirtualUser as VirtualUser,
)
