"""Anthropic Messages: POST /v1/messages and POST /v1/messages/count_tokens.

The grammar is in the two files beside: `_anthropic_decode` for requests, `_anthropic_encode` for answers.
"""

from __future__ import annotations

from collections.abc import Mapping

from soundstage.errors import ProviderError, RequestRejected
from soundstage.messages import ModelRequest, ModelResponse
from soundstage.wire import _anthropic_decode, _anthropic_encode, _sse
from soundstage.wire._codec import AnswerStamp, Encoder, ErrorAnswer, TokenCount


class AnthropicMessages:
    """The codec of the messages format."""

    name = "anthropic"
    stream_type = _sse.MEDIA_TYPE

    def decode(self, body: bytes, parameters: Mapping[str, str]) -> ModelRequest:
        """See `Codec.decode`."""
        return _anthropic_decode.decode(body, self.name, parameters.get("model", ""))

    def encode(self, response: ModelResponse, request: ModelRequest, stamp: AnswerStamp) -> bytes:
        """See `Codec.encode`."""
        return _anthropic_encode.encode(response, request, stamp)

    def encoder(self, request: ModelRequest, stamp: AnswerStamp) -> Encoder:
        """See `Codec.encoder`."""
        return _anthropic_encode.MessageEncoder(request, stamp)

    def fault(self, error: ProviderError | RequestRejected, stamp: AnswerStamp) -> ErrorAnswer:
        """See `Codec.fault`."""
        return _anthropic_encode.fault(error, stamp)

    def count_tokens(self, body: bytes) -> TokenCount:
        """Estimate the tokens of a request, the same each time.

        Args:
            body: what was posted to be counted; a request that need not say `max_tokens`.

        Returns:
            One token for every four characters of readable text and of the tools' JSON.

        Raises:
            RequestRejected: as `decode` does.
        """
        return _anthropic_decode.count(body, self.name)

    def encode_count(self, counted: TokenCount) -> bytes:
        """The answer to a request to count."""
        edited = {} if counted.before is None else {"original_input_tokens": counted.before}
        shown = {"context_management": edited} if edited else {}
        return _sse.encode_json({"input_tokens": counted.tokens, **shown})
