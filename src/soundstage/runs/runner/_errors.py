"""Errors of a run of an agent. Each says what the run had come to, and can be written as JSON.

AppError
`-- RunAbortedError            a run was ended before its time; `reason` says why
    `-- BudgetExceededError      it took more than it may
        `-- CostBudgetExceededError  of dollars
EnvironmentProblem
`-- StorageError               a run is over, and the store cannot keep it
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import msgspec

from soundstage.errors import AppError, EnvironmentProblem, SoundstageError, WrongValueError

if TYPE_CHECKING:
    from soundstage.runs.result import RunResult

_TYPE = "type"


class RunError(SoundstageError):
    """Base of the errors of a run: they carry its result as far as it came.

    Attributes:
        run: id of the run, under which a store has kept it.
        partial_result: what there is of it; `None` for an error that was read from JSON.
    """

    metadata_fields: ClassVar[tuple[str, ...]] = ("run",)

    run: str = ""
    partial_result: RunResult | None = None

    @property
    def metadata(self) -> dict[str, Any]:
        """The facts of the error by name, as its constructor takes them."""
        return {name: getattr(self, name) for name in self.metadata_fields}

    def to_json(self) -> bytes:
        """The class and the facts of the error as JSON. The result is not in it: a store has that by `run`."""
        return msgspec.json.encode({_TYPE: type(self).__name__, **self.metadata})

    @classmethod
    def from_json(cls, data: bytes | str) -> Self:
        """The error that `to_json` has written: of this class, or of one below it.

        Raises:
            WrongValueError: if it is no such error.

        Example:
            >>> RunError.from_json(RunAbortedError("timeout", "60 s", run="a1").to_json()).reason
            'timeout'
        """
        try:
            fields = msgspec.json.decode(data, type=dict[str, Any])
            found: Self = _classes(cls)[fields.pop(_TYPE)](**fields)
        except (msgspec.DecodeError, KeyError, TypeError) as error:
            raise WrongValueError(
                f"this is no {cls.__name__} as JSON", seen=f"{type(error).__name__}: {error}"
            ) from None
        return found


def _classes(cls: type[Any]) -> dict[str, type[Any]]:
    found = {cls.__name__: cls}
    for below in cls.__subclasses__():
        found |= _classes(below)
    return found


class RunAbortedError(RunError, AppError):
    """Raised when a run was ended before its time.

    Args:
        reason: `timeout`, `session-timeout`, `budget`, `watcher`, `interrupted` or `closed`.
        detail: more of it: which limit, which watcher.
        run: id of the run.
        partial_result: what there is of it.

    Example:
        >>> str(RunAbortedError("timeout", "it took over 60 s")).splitlines()[0]
        'the run was aborted: timeout, it took over 60 s'
    """

    metadata_fields: ClassVar[tuple[str, ...]] = ("reason", "detail", "run")

    def __init__(
        self, reason: str, detail: str = "", *, run: str = "", partial_result: RunResult | None = None
    ) -> None:
        super().__init__(
            "the run was aborted: " + ", ".join(filter(None, (reason, detail))),
            hint="`.partial_result` has what there is; on_abort='return' returns it instead",
        )
        self.reason = reason
        self.detail = detail
        self.run = run
        self.partial_result = partial_result


class BudgetExceededError(RunAbortedError):
    """Raised when a run takes more tokens, turns or seconds than its budget has.

    Args:
        limit: `cost`, `tokens`, `turns` or `time`.
        budget: so much it may take.
        spent: so much it has taken, or would.
        run: id of the run.
        partial_result: what there is of it.
    """

    metadata_fields: ClassVar[tuple[str, ...]] = ("limit", "budget", "spent", "run")

    def __init__(
        self,
        limit: str,
        budget: float,
        spent: float,
        *,
        run: str = "",
        partial_result: RunResult | None = None,
    ) -> None:
        unit = _UNITS[limit]
        detail = f"{spent:g} {unit} of {budget:g}"
        super().__init__("budget", detail, run=run, partial_result=partial_result)
        self.limit = limit
        self.budget = budget
        self.spent = spent


class CostBudgetExceededError(BudgetExceededError):
    """Raised when a run costs more than its budget: as projected, before it begins; or as summed up, in it.

    Args:
        budget: US dollars that it may cost.
        projected_cost: US dollars that it has cost, or would at least.
        run: id of the run.
        partial_result: what there is of it.
    """

    metadata_fields: ClassVar[tuple[str, ...]] = ("budget", "projected_cost", "run")

    def __init__(
        self, budget: float, projected_cost: float, *, run: str = "", partial_result: RunResult | None = None
    ) -> None:
        super().__init__("cost", budget, projected_cost, run=run, partial_result=partial_result)
        self.projected_cost = projected_cost


_UNITS = {"cost": "dollars", "tokens": "tokens", "turns": "turns", "time": "seconds"}


class StorageError(RunError, EnvironmentProblem):
    """Raised when a run is over and the store cannot keep it. `partial_result` has all of it.

    Args:
        store: the folder.
        kind: the class of the error of the store: `DiskFullError`.
        detail: its message.
        run: id of the run.
        partial_result: the result.
    """

    metadata_fields: ClassVar[tuple[str, ...]] = ("store", "kind", "detail", "run")

    def __init__(
        self, store: str, kind: str, detail: str, *, run: str = "", partial_result: RunResult | None = None
    ) -> None:
        super().__init__(
            f"the run {run} is over, and the store {store} cannot keep it",
            seen=f"{kind}: {detail}",
            hint="`.partial_result` has the result; ignore_storage_errors=True makes a warning of this",
        )
        self.store = store
        self.kind = kind
        self.detail = detail
        self.run = run
        self.partial_result = partial_result
