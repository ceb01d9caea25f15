from ._levels import InNetwork as InNetwork
from ._levels import InSandbox as InSandbox
from ._levels import InService as InService
from ._netns import RunServers as RunServers
from ._netns import name_files as name_files
