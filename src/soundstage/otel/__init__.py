"""OpenTelemetry: spans of the GenAI conventions into a journal, and runs of ours as such spans.

`JournalSpanExporter(journal)` takes the spans of this process, `OtlpReceiver(journal)` those of any process. Both
make them part of the run: the same trace and the same assertions as for what went through the model server.
`export_spans(journal, exporter)` goes the other way. `soundstage.otel.openai_agents` and `soundstage.otel.langchain`
make spans for two frameworks that do not make them by themselves.

Needs the extra: `pip install 'soundstage[otel]'`.
"""

try:
    import opentelemetry.proto
    import opentelemetry.sdk  # noqa: F401
except ImportError as error:
    from soundstage.errors import EnvironmentProblem

    raise EnvironmentProblem(
        "soundstage.otel needs the OpenTelemetry SDK",
        seen=str(error),
        hint="pip install 'soundstage[otel]'",
    ) from error

from soundstage.otel._events import SpanMatched, SpanReceived
from soundstage.otel._export import export_spans
from soundstage.otel._exporter import JournalSpanExporter
from soundstage.otel._receiver import OtlpReceiver

__all__ = [
    "JournalSpanExporter",
    "OtlpReceiver",
    "SpanMatched",
    "SpanReceived",
    "export_spans",
]
