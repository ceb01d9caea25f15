from ._in_process import sweep as sweep
from ._kinds import KINDS as KINDS
from ._source import ModelSource as ModelSource
from ._source import scripted as scripted
from ._sweeper import FaultSweeper as FaultSweeper
from ._table import Sweep as Sweep
from ._table import SweepRow as SweepRow
