"""A virtual Discord, gateway and REST API on loopback, for bots that do not know that it is not the real one.

`Discord` is the world with its test side. `DiscordGateway` is a narrow seam for apps that want one, with two
peers: `VirtualDiscordGateway` in process on virtual time, and `DiscordPyGateway` on the real library.
"""

from soundstage.wings import lazy_window

__getattr__, __dir__, __all__ = lazy_window(__name__, __file__, extra="soundstage[discord]")
