"""OpenTelemetry: spans of the GenAI conventions into a journal, and runs of ours as such spans.

`JournalSpanExporter(journal)` takes the spans of this process, `OtlpReceiver(journal)` those of any process. Both
make them part of the run: the same trace and the same assertions as for what went through the model server.
`export_spans(journal, exporter)` goes the other way. `soundstage.otel.openai_agents` and `soundstage.otel.langchain`
make spans for two frameworks that do not make them by themselves.

Needs the extra: `pip install 'soundstage[otel]'`.
"""

from soundstage.wings import lazy_window

__getattr__, __dir__, __all__ = lazy_window(__name__, __file__, extra="soundstage[otel]")
