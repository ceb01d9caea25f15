from ._answers import AnswerReader as AnswerReader
from ._events import ModelThrottled as ModelThrottled
from ._limited import LimitedModel as LimitedModel
from ._limits import ProviderGate as ProviderGate
from ._limits import ProviderLimits as ProviderLimits
from ._model import LiveModel as LiveModel
