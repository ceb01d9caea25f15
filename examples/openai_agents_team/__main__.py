"""One question, one answer. With OTEL_EXPORTER_OTLP_ENDPOINT set, spans are sent there."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import sys


def main() -> int:
    """Answer the question on the command line."""
    if len(sys.argv) != 2:
        print('usage: python -m examples.openai_agents_team "question"', file=sys.stderr)
        return 2
    if importlib.util.find_spec("agents") is None:
        print("the package is missing: pip install openai-agents", file=sys.stderr)
        return 2
    if not os.environ.get("OPENAI_API_KEY"):
        print("OPENAI_API_KEY is not set; OPENAI_BASE_URL may name another server", file=sys.stderr)
        return 2
    from agents import set_trace_processors
    from examples.openai_agents_team.team import answer

    flush = trace_to_otlp() if os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") else set_trace_processors([])
    try:
        print(asyncio.run(answer(sys.argv[1])))
    finally:
        if flush is not None:
            flush()
    return 0


def trace_to_otlp():  # noqa: ANN201  (types of an optional package)
    """Have the SDK's traces sent as spans; returns what sends the last of them."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    from agents import set_trace_processors
    from soundstage.otel.openai_agents import AgentsTracing

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    set_trace_processors([AgentsTracing(provider)])
    return provider.shutdown


if __name__ == "__main__":
    sys.exit(main())
