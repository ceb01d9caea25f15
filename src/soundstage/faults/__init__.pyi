from ._source import ModelSource as ModelSource
from ._source import scripted as scripted
