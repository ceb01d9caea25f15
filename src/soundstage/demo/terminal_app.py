"""The program of the terminal scenario: a full-screen picker that has a model write release notes.

It knows nothing of Soundstage: it asks the server in OPENAI_BASE_URL with the key in OPENAI_API_KEY, draws on the
terminal that it is started on, and keeps what it wrote in a file: `python -m soundstage.demo.terminal_app FILE`.
"""

from __future__ import annotations

import json
import os
import sys
import termios
import textwrap
import tty
import urllib.request
from collections.abc import Iterator
from pathlib import Path

CHANGES = (
    ("fix", "red", "the last line of a file is no longer lost"),
    ("feat", "green", "a dark theme"),
    ("docs", "blue", "how to begin, in five minutes"),
    ("perf", "magenta", "large folders open at once"),
)
COLOURS = {"red": 31, "green": 32, "blue": 34, "magenta": 35}
KEYS = {
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1bOA": "up",
    "\x1bOB": "down",
    " ": "space",
    "\r": "enter",
    "q": "quit",
}
HELP = "up down move   space chooses   enter writes   q quits"


class Picker:
    """The choice and the text so far; `draw` puts them on the screen."""

    def __init__(self) -> None:
        self.at = 0
        self.chosen: set[int] = set()
        self.notes = ""
        self.state = HELP

    def draw(self) -> None:
        """Draw everything in one go: a terminal that knows mode 2026 shows no half of it."""
        width, height = os.get_terminal_size()
        lines = [paint(f" release notes{f'{len(self.chosen)} chosen '.rjust(width - 14)}", 1, 7, 34), ""]
        lines += [self._row(number) for number in range(len(CHANGES))]
        lines += ["", *(paint(f"  {line}", 92) for line in textwrap.wrap(self.notes, width - 4))]
        lines += [""] * (height - 1 - len(lines)) + [paint(f" {self.state}".ljust(width - 1), 7)]
        put("\x1b[?2026h\x1b[H\x1b[2J" + "\r\n".join(lines[:height]) + "\x1b[?2026l")

    def _row(self, number: int) -> str:
        kind, colour, text = CHANGES[number]
        mark = "[x]" if number in self.chosen else "[ ]"
        here = number == self.at
        row = f" {'>' if here else ' '} {mark} {paint(kind.ljust(5), COLOURS[colour])}"
        return row + (paint(text, 1) if here else text)

    def press(self, key: str) -> None:
        """Do what a key says."""
        steps = {"up": -1, "down": 1}
        self.at = (self.at + steps.get(key, 0)) % len(CHANGES)
        if key == "space":
            self.chosen ^= {self.at}
        if key == "enter" and self.chosen:
            self.write()

    def write(self) -> None:
        """Have the model write about what is chosen, and show its words as they come."""
        wanted = "\n".join(f"- {CHANGES[number][0]}: {CHANGES[number][2]}" for number in sorted(self.chosen))
        self.notes, self.state = "", "writing"
        for piece in ask(f"Write release notes, one sentence:\n{wanted}"):
            self.notes += piece
            self.draw()
        self.state = "written   " + HELP


def paint(text: str, *codes: int) -> str:
    """`text` in a colour or with an attribute."""
    return f"\x1b[{';'.join(map(str, codes))}m{text}\x1b[m"


def put(text: str) -> None:
    """Write to the terminal at once."""
    sys.stdout.write(text)
    sys.stdout.flush()


def ask(prompt: str) -> Iterator[str]:
    """The words of the model, as they come."""
    body = {"model": "gpt-4o", "stream": True, "messages": [{"role": "user", "content": prompt}]}
    request = urllib.request.Request(  # noqa: S310  (the address is the user's own)
        f"{os.environ['OPENAI_BASE_URL']}/chat/completions",
        json.dumps(body).encode(),
        {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:  # noqa: S310
        for line in answer:
            data = line.decode().removeprefix("data:").strip()
            if data.startswith("{"):
                for choice in json.loads(data)["choices"]:
                    yield choice["delta"].get("content") or ""


def keys() -> Iterator[str]:
    """The keys that are pressed, until there are no more."""
    while data := os.read(sys.stdin.fileno(), 64).decode():
        while data:
            code = next((code for code in KEYS if data.startswith(code)), data[0])
            data = data[len(code) :]
            yield KEYS.get(code, "")


def main() -> None:
    """Draw, read a key, draw, until `q`; then put the terminal back and keep the notes."""
    picker, before = Picker(), termios.tcgetattr(0)
    tty.setraw(0)
    put("\x1b[?1049h\x1b[?25l\x1b]2;release notes\x07")
    try:
        picker.draw()
        for key in keys():
            if key == "quit":
                break
            picker.press(key)
            picker.draw()
    finally:
        put("\x1b[?25h\x1b[?1049l")
        termios.tcsetattr(0, termios.TCSADRAIN, before)
    Path(sys.argv[1]).write_text(picker.notes + "\n")
    put(f"{sys.argv[1]}: {picker.notes}\n")


if __name__ == "__main__":
    main()
