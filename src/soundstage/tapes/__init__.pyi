from ._recording import RecordingModel as RecordingModel
from ._replay import Mismatch as Mismatch
from ._replay import ReplayModel as ReplayModel
from ._tape import RecordedExchange as RecordedExchange
from ._tape import RecordedFailure as RecordedFailure
from ._tape import Tape as Tape
from ._tape import TimedChunk as TimedChunk
