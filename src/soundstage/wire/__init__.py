"""The wire: any model behind the HTTP interfaces of OpenAI, Anthropic and Gemini."""

from soundstage.wire._app import CODECS
from soundstage.wire._codec import AnswerStamp, Codec, Encoder
from soundstage.wire._server import ModelServer

__all__ = ["CODECS", "AnswerStamp", "Codec", "Encoder", "ModelServer"]
