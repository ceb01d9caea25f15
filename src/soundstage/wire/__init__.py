"""The wire: any model behind the HTTP interfaces of OpenAI, Anthropic and Gemini.

`ModelServer` is the whole of it. The pieces are public too, for those that stand between an app and a provider: which
format a request has (`find_route`), what it asks (`CODECS`, `with_caller`), and how an answer is written.

    >>> route = find_route("POST", "/v1/messages", "")
    >>> codec = CODECS[route.format]
    >>> body = b'{"model": "m", "max_tokens": 9, "stream": true, "messages": [{"role": "user", "content": "hi"}]}'
    >>> request = with_caller(codec.decode(body, route.parameters), {"x-soundstage-agent": "executor"})
    >>> request.caller.agent, request.last_user_text, request.stream
    ('executor', 'hi', True)
    >>> from soundstage.messages import ModelResponse, Text
    >>> answer = codec.encode(ModelResponse(parts=(Text(text="Hello"),)), request, AnswerStamp("0" * 24, created=0))
    >>> b'"text":"Hello"' in answer
    True
"""

from soundstage.wire._app import CODECS
from soundstage.wire._callers import with_caller
from soundstage.wire._codec import AnswerStamp, Codec, Encoder, ErrorAnswer
from soundstage.wire._endpoint import STAND_IN_KEY, ModelEndpoint
from soundstage.wire._routes import MatchedRoute, find_route, format_of
from soundstage.wire._server import ModelServer
from soundstage.wire._stand_ins import stand_ins

__all__ = [
    "CODECS",
    "STAND_IN_KEY",
    "AnswerStamp",
    "Codec",
    "Encoder",
    "ErrorAnswer",
    "MatchedRoute",
    "ModelEndpoint",
    "ModelServer",
    "find_route",
    "format_of",
    "stand_ins",
    "with_caller",
]
