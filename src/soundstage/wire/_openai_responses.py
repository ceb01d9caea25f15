"""OpenAI Responses: POST /v1/responses.

A reply is a list of items in the order of its blocks: reasoning, messages, calls. Requests are read in
`_openai_responses_decode`, items made in `_openai_responses_encode`, events in `_openai_responses_stream`.
The codec keeps nothing: whoever answers requests keeps the earlier ones, and puts them in front with
`continue_from` when `previous_response_id` in the settings of a request asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping

from soundstage.errors import ProviderError, RequestRejected
from soundstage.messages import ModelRequest, ModelResponse
from soundstage.wire import _openai, _sse
from soundstage.wire import _openai_responses_decode as _decode
from soundstage.wire import _openai_responses_encode as _encode
from soundstage.wire._codec import AnswerStamp, Encoder, ErrorAnswer
from soundstage.wire._openai_responses_decode import check_calls, continue_from
from soundstage.wire._openai_responses_stream import ResponsesEncoder

__all__ = ["OpenAIResponses", "check_calls", "continue_from"]


class OpenAIResponses:
    """The codec of the Responses format."""

    name = _decode.NAME
    stream_type = _sse.MEDIA_TYPE

    def decode(self, body: bytes, parameters: Mapping[str, str]) -> ModelRequest:
        """See `Codec.decode`."""
        return _decode.decode(body, parameters)

    def encode(self, response: ModelResponse, request: ModelRequest, stamp: AnswerStamp) -> bytes:
        """See `Codec.encode`."""
        return _encode.encode(response, request, stamp)

    def encoder(self, request: ModelRequest, stamp: AnswerStamp) -> Encoder:
        """See `Codec.encoder`."""
        return ResponsesEncoder(request, stamp)

    def fault(self, error: ProviderError | RequestRejected, stamp: AnswerStamp) -> ErrorAnswer:
        """See `Codec.fault`."""
        return _openai.fault(error, stamp)
