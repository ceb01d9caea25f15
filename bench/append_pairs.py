"""Appends of this working tree against those of another commit, in pairs.

    python bench/append_pairs.py FOLDER        # FOLDER: a checkout of the other commit

Each side is a process that waits for its turn, and processor time is measured, so that both see the same machine; the
median of the ratios of neighbouring turns is printed, below 1 where this tree is faster.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

from _pairs import interleave, median, ratio

ROUNDS = 15
SIDE = """
import gc, os, sys, tempfile, time
sys.path.insert(0, sys.argv[1])
from soundstage.journal import Journal, MessageSent, ModelChunked, ModelRequested, Noted, Redactor, ToolCalled
from soundstage.messages import ModelRequest, TextChunk, assistant, system, user
text = "Hello, this is a message of ordinary length."
turns = [message for number in range(10) for message in (user(f"{text} {number}"), assistant(text))]
makes = {
    "message": lambda: MessageSent(text=text),
    "chunk": lambda: ModelChunked(chunk=TextChunk(index=0, text="Hello, ")),
    "call": lambda: ToolCalled(call_id="c1", name="read", arguments={"path": "a.txt", "lines": [1, 2]}),
    "note": lambda: Noted(text=text, data={"x": 1}),
    "request of 21 messages": lambda: ModelRequested(
        request=ModelRequest(model="m", messages=(system(text), *turns), settings={"temperature": 0.5})
    ),
}
def once(kind, where):
    make = makes[kind]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "j.jsonl") if where else None
        secrets = ["hunter2-hunter2", "correct-horse-9"] if where == "file, secrets known" else []
        journal = Journal(path, redactor=Redactor(secrets))
        gc.collect()
        count = 2000
        begun = time.process_time()
        for _ in range(count):
            journal.append(make(), source="s", cause=None)
        spent = (time.process_time() - begun) / count
        journal.close()
    return spent
for line in sys.stdin:
    kind, where = line.rstrip("\\n").split("|")
    print(once(kind, where), flush=True)
"""
KINDS = ("message", "chunk", "call", "note", "request of 21 messages")
PLACES = ("", "file", "file, secrets known")


def main() -> None:
    here = Path(__file__).parent.parent
    sides = [_side(folder / "src") for folder in (here, Path(sys.argv[1]))]
    for where in PLACES:
        for kind in KINDS:
            ours, theirs = (partial(_turn, side, f"{kind}|{where}") for side in sides)
            times = interleave({"ours": ours, "theirs": theirs}, ROUNDS)
            found = ratio(times["ours"], times["theirs"])
            micros = " : ".join(f"{median(times[name]) * 1e6:.2f}" for name in ("ours", "theirs"))
            print(f"{where or 'memory':20} {kind:24} {found:.2f}   {micros} us", flush=True)
    for side in sides:
        side.stdin.close()
        side.wait()


def _side(source: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SIDE, str(source)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _turn(side: subprocess.Popen[str], what: str) -> float:
    side.stdin.write(what + "\n")
    side.stdin.flush()
    return float(side.stdout.readline())


if __name__ == "__main__":
    main()
