"""Notes on a console, kept in a file journal. `python -m examples.file_journal_console` starts it.

Typed lines survive the end of the program, however it ends: each entry is in the file before it is answered, and
the next run goes on with the file. Its tests are in tests/examples/test_file_journal_console.py.
"""

from examples.file_journal_console._app import configure

__all__ = ["configure"]
