"""Which exit codes a test has agreed to.

A program that exits with an error, or crashes, fails the run unless the test has said so: when it made the driver
(`code=3`, or `code=None` for any), or with the code that it waited for. What we end ourselves has not failed.
"""

from __future__ import annotations

from soundstage.errors import AppError, ExpectationError


class ExitCodes:
    """The exit of one program, as the test expects it.

    Args:
        name: how messages call the program.
        code: the code that it is to exit with; any, if `None`.
    """

    def __init__(self, name: str, code: int | None) -> None:
        self._name = name
        self.code = code
        self._agreed: set[int] = set()
        self._told = code is None

    def agree(self, *codes: int) -> None:
        """These codes are as good as the one that is expected."""
        self._agreed |= set(codes)

    def told(self) -> None:
        """The test knows of the exit: by an error that has told it, or because we have ended the program."""
        self._told = True

    def check(self, expected: int | None, found: int, seen: str) -> None:
        """A wait has seen the exit: whoever names a code has agreed to it.

        Raises:
            ExpectationError: if it is another one.
        """
        self._told = True
        if expected is not None and found != expected:
            raise ExpectationError(
                f"{self._name} failed" if expected == 0 else f"{self._name} exited with another code",
                expected=f"an exit with code {expected}",
                seen=seen,
                hint=_hint(found),
            )

    def judge(self, found: int | None, seen: str) -> None:
        """The run ends, and the program had exited by itself before.

        Args:
            found: its exit code; `None` if it was still running.
            seen: what there is to show of it.

        Raises:
            AppError: if nobody has looked at its exit, and it is not the expected one.
        """
        if found is not None and not self._told and found not in {self.code, *self._agreed}:
            raise AppError(
                f"{self._name} failed, and nobody looked",
                expected=f"exit code {self.code}",
                seen=seen,
                hint=_hint(found),
            )


def _hint(found: int) -> str:
    return f"if it is meant to: wait for code={found}, or make it with code={found}, or code=None for any"
