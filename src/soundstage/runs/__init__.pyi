from ._cleaning import (
    CleanupResult as CleanupResult,
)
from ._cleaning import (
    Retention as Retention,
)
from ._cost_reporter import CostReporter as CostReporter
from ._disk import Disk as Disk
from ._errors import (
    ContentNotFoundError as ContentNotFoundError,
)
from ._errors import (
    DamagedContentError as DamagedContentError,
)
from ._errors import (
    DiskFullError as DiskFullError,
)
from ._errors import (
    RunNotFoundError as RunNotFoundError,
)
from ._errors import (
    SchemaError as SchemaError,
)
from ._errors import (
    StoreBusyError as StoreBusyError,
)
from ._errors import (
    StreamConsumedError as StreamConsumedError,
)
from ._events import AttemptFailed as AttemptFailed
from ._events import (
    ContentRemoved as ContentRemoved,
)
from ._events import (
    IndexRebuilt as IndexRebuilt,
)
from ._events import RunClosed as RunClosed
from ._events import RunOpened as RunOpened
from ._events import (
    RunRemoved as RunRemoved,
)
from ._export import export_run as export_run
from ._export import parts_of as parts_of
from ._export import write_archive as write_archive
from ._files import ContentSource as ContentSource
from ._files import LazyFile as LazyFile
from ._matchers import assert_complete_hooks as assert_complete_hooks
from ._matchers import assert_incomplete_hooks as assert_incomplete_hooks
from ._matchers import assert_other_result as assert_other_result
from ._matchers import assert_over_budget as assert_over_budget
from ._matchers import assert_same_result as assert_same_result
from ._matchers import assert_within_budget as assert_within_budget
from ._matchers import check_complete_hooks as check_complete_hooks
from ._matchers import check_incomplete_hooks as check_incomplete_hooks
from ._matchers import check_other_result as check_other_result
from ._matchers import check_over_budget as check_over_budget
from ._matchers import check_same_result as check_same_result
from ._matchers import check_within_budget as check_within_budget
from ._record import (
    Bundle as Bundle,
)
from ._record import (
    RunRecord as RunRecord,
)
from ._record import (
    new_run_id as new_run_id,
)
from ._store import RunStore as RunStore
from ._store import named_contents as named_contents
from ._store import store_of as store_of
from ._stored import StoredRun as StoredRun
from .result import (
    FileEntry as FileEntry,
)
from .result import (
    RunResult as RunResult,
)
from .result import (
    build_result as build_result,
)
from .runner._app import AppSession as AppSession
from .runner._budget import Budget as Budget
from .runner._budget import projected_cost as projected_cost
from .runner._config import RunConfig as RunConfig
from .runner._errors import BudgetExceededError as BudgetExceededError
from .runner._errors import CostBudgetExceededError as CostBudgetExceededError
from .runner._errors import RunAbortedError as RunAbortedError
from .runner._errors import RunError as RunError
from .runner._errors import StorageError as StorageError
from .runner._retry import Retry as Retry
from .runner._runner import AgentRunner as AgentRunner
from .runner._runner import Runs as Runs
from .runner._targets import RunContext as RunContext
from .runner._watching import WatchedEvent as WatchedEvent
from .runner._watching import Watcher as Watcher
