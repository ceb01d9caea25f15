"""Send a journal to an OpenTelemetry collector: `python -m soundstage.otel journal.jsonl --endpoint URL`."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from soundstage.errors import EnvironmentProblem, ScriptError, SoundstageError
from soundstage.journal import read_journal
from soundstage.otel import export_spans

TRACES = "/v1/traces"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code: 0, or 2 with the reason on standard error."""
    parser = argparse.ArgumentParser(
        prog="python -m soundstage.otel", description="Send a run as GenAI spans to an OTLP/HTTP collector."
    )
    parser.add_argument("journal", type=Path, help="a journal file")
    parser.add_argument("--endpoint", default="http://localhost:4318", help="the collector (%(default)s)")
    parser.add_argument("--service", default="soundstage", help="the service.name of the spans (%(default)s)")
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds for each request (%(default)g)")
    options = parser.parse_args(arguments)
    logging.getLogger("opentelemetry").addHandler(logging.StreamHandler())  # says why a request failed
    try:
        sent = _send(options.journal, _traces_url(options.endpoint), options.service, options.timeout)
    except SoundstageError as error:
        print(error, file=sys.stderr)  # noqa: T201  (a command)
        return 2
    print(f"{sent} spans sent to {options.endpoint}")  # noqa: T201
    return 0


def _traces_url(endpoint: str) -> str:
    """The address for traces: the endpoint itself if it has a path, else with the path of the protocol.

    Raises:
        ScriptError: if it is no HTTP address.
    """
    url = urlsplit(endpoint)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ScriptError(
            "the endpoint is no HTTP address", expected="http://localhost:4318", seen=repr(endpoint)
        )
    return endpoint if url.path.strip("/") else endpoint.rstrip("/") + TRACES


def _send(path: Path, url: str, service: str, timeout: float) -> int:
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError as error:
        raise EnvironmentProblem(
            "the OTLP exporter is not installed",
            seen=str(error),
            hint="pip install opentelemetry-exporter-otlp-proto-http",
        ) from None
    if not path.is_file():
        raise ScriptError("there is no such journal", seen=str(path), hint="give the path of a journal.jsonl")
    exporter = OTLPSpanExporter(url, timeout=timeout)
    try:
        return export_spans(read_journal(path), exporter, service=service)
    finally:
        exporter.shutdown()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    sys.exit(main())
