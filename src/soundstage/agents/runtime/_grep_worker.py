"""Searches files for a regular expression, as a program of its own: a bad expression can take for ever, and
only a process can be ended. Reads its job as JSON from standard input; it imports nothing of ours.
"""

import json
import re
import sys
from pathlib import Path

LONGEST = 400  # characters of a line


def main() -> None:
    """Print `path:line: text` for each line that matches."""
    job = json.load(sys.stdin)
    expression = re.compile(job["pattern"], re.IGNORECASE if job["ignore_case"] else 0)
    found = 0
    for name in job["files"]:
        try:
            data = (Path(job["root"]) / name).read_bytes()
        except OSError:
            continue
        if b"\0" in data:
            continue
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), start=1):
            if expression.search(line):
                sys.stdout.write(f"{name}:{number}: {line[:LONGEST]}\n")
                found += 1
                if found == job["limit"]:
                    sys.stdout.write(f"[the first {found} matches; narrow the search to see others]\n")
                    return


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    main()
