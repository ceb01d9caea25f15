from ._answers import AnswerReader as AnswerReader
from ._model import LiveModel as LiveModel
