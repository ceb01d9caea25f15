"""Live models: providers that are asked for real, and the answers of providers, read from their bytes.

`LiveModel` is a model like any other; `AnswerReader` makes chunks of an answer that somebody else received.
"""

from soundstage.wings import lazy_window

__getattr__, __dir__, __all__ = lazy_window(__name__, __file__)
