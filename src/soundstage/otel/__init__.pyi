from ._events import (
    SpanMatched as SpanMatched,
)
from ._events import (
    SpanReceived as SpanReceived,
)
from ._export import export_spans as export_spans
from ._exporter import JournalSpanExporter as JournalSpanExporter
from ._receiver import OtlpReceiver as OtlpReceiver
