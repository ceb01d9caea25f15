"""One side of a comparison in pairs: runs what it is told, one line at a time; see `pairs.py`.

    python _side.py FOLDER        # FOLDER: a checkout of Soundstage

The workloads are those of the checkout's own `bench`, so that names which have changed do no harm; what it does not
have comes from the folder of this file. A line is a workload; the answer is its seconds, or why there are none.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
_clock = time.perf_counter


def main() -> None:
    """Answer until the input ends."""
    folder = Path(sys.argv[1]).resolve()
    sys.path[:0] = [str(folder / "src"), str(folder / "bench"), str(HERE)]
    for line in sys.stdin:
        work, wall = json.loads(line)
        print(json.dumps(_answer(work, folder, wall=wall)), flush=True)


def _answer(work: str, folder: Path, *, wall: bool) -> dict[str, Any]:
    """Seconds: of the processor, so that what else the machine does counts little, or of the clock on the wall."""
    time.perf_counter = _clock if wall else time.process_time
    try:
        names = {name: importlib.import_module(name) for name in re.findall(r"\b(?:rows)?_\w+(?=\.)", work)}
        return {"seconds": eval(work, names | {"timed": _timed}), "source": _source(folder)}
    except Exception as error:  # noqa: BLE001  (an older commit need not have all)
        return {"problem": f"{type(error).__name__}: {error}"}


def _source(folder: Path) -> bool:
    """Whether it was the code of the checkout that ran."""
    return Path(str(sys.modules["soundstage"].__file__)).is_relative_to(folder)


def _timed(action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
