"""One question, one answer. With OTEL_EXPORTER_OTLP_ENDPOINT set, spans are sent there."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import sys

PACKAGES = {"langgraph": "langgraph", "langchain_openai": "langchain-openai"}


def main() -> int:
    """Answer the question on the command line."""
    if len(sys.argv) != 2:
        print('usage: python -m examples.langgraph_team "question"', file=sys.stderr)
        return 2
    missing = [package for module, package in PACKAGES.items() if importlib.util.find_spec(module) is None]
    if missing:
        print(f"packages are missing: pip install {' '.join(missing)}", file=sys.stderr)
        return 2
    if not os.environ.get("OPENAI_API_KEY"):
        print("OPENAI_API_KEY is not set; OPENAI_BASE_URL may name another server", file=sys.stderr)
        return 2
    os.environ.setdefault("LANGSMITH_TRACING", "false")  # nothing goes to LangSmith unless asked for
    from examples.langgraph_team.team import answer

    callbacks, flush = trace_to_otlp() if os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") else ([], None)
    try:
        print(asyncio.run(answer(sys.argv[1], callbacks)))
    finally:
        if flush is not None:
            flush()
    return 0


def trace_to_otlp():  # noqa: ANN201  (types of an optional package)
    """A callback that makes spans, and what sends the last of them."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    from examples.langgraph_team.team import AGENTS
    from soundstage.otel.langchain import LangChainTracing

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return [LangChainTracing(provider, agents=AGENTS)], provider.shutdown


if __name__ == "__main__":
    sys.exit(main())
