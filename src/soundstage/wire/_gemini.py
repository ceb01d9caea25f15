"""Gemini: POST /v1beta/models/{model}:generateContent, :streamGenerateContent and :countTokens.

The model and whether to stream are in the path, the framing of a stream is in the query: `parameters` has
them as `model`, `stream` ("true") and `alt` ("sse"). The grammar is in the two files beside:
`_gemini_decode` for requests, `_gemini_encode` for answers.
"""

from __future__ import annotations

from collections.abc import Mapping

from soundstage.errors import ProviderError, RequestRejected
from soundstage.messages import ModelRequest, ModelResponse
from soundstage.wire import _gemini_decode, _gemini_encode, _sse
from soundstage.wire._codec import AnswerStamp, Encoder, ErrorAnswer, TokenCount


class Gemini:
    """The codec of the Gemini format.

    A stream without `alt=sse` is a JSON array: the encoder's own `stream_type` says so.
    """

    name = "gemini"
    stream_type = _sse.MEDIA_TYPE

    def decode(self, body: bytes, parameters: Mapping[str, str]) -> ModelRequest:
        """See `Codec.decode`."""
        return _gemini_decode.decode(body, parameters, self.name)

    def encode(self, response: ModelResponse, request: ModelRequest, stamp: AnswerStamp) -> bytes:
        """See `Codec.encode`."""
        return _gemini_encode.encode(response, request, stamp)

    def encoder(self, request: ModelRequest, stamp: AnswerStamp) -> Encoder:
        """See `Codec.encoder`."""
        return _gemini_encode.ContentEncoder(request, stamp)

    def fault(self, error: ProviderError | RequestRejected, stamp: AnswerStamp) -> ErrorAnswer:
        """See `Codec.fault`."""
        return _gemini_encode.fault(error)

    def count_tokens(self, body: bytes) -> TokenCount:
        """Estimate the tokens of a request, the same each time.

        Args:
            body: what was posted to be counted: contents, or a whole `generateContentRequest`.

        Returns:
            One token for every four characters of readable text and of the tools' JSON.

        Raises:
            RequestRejected: as `decode` does; the order of calls and results is not looked at.
        """
        return TokenCount(_gemini_decode.count(body))

    def encode_count(self, counted: TokenCount) -> bytes:
        """The answer to a request to count."""
        return _sse.encode_json({"totalTokens": counted.tokens})
