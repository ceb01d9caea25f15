"""Programs on a terminal: typed at as a person does, and seen as an xterm shows them.

`Terminal` is a program with a screen to look at, `TerminalConsole` one that is read line by line; a `Screen` is what an
`Emulator` has made of a program's output.
"""

from soundstage.wings import lazy_window

__getattr__, __dir__, __all__ = lazy_window(__name__, __file__)
