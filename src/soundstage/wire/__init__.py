"""The wire: any model behind the HTTP interfaces of OpenAI, Anthropic and Gemini."""

from soundstage.wire._app import CODECS, WireApp
from soundstage.wire._codec import Codec, Encoder, Stamp
from soundstage.wire._server import ModelServer

__all__ = ["CODECS", "Codec", "Encoder", "ModelServer", "Stamp", "WireApp"]
