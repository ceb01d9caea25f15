"""The prompts of a configuration: texts, files with one or several, conversations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final, NamedTuple

from soundstage.errors import ScriptError
from soundstage.evals.promptfoo._reading import FILE, PromptfooReading, each, part_of
from soundstage.evals.promptfoo._render import json_text, render, render_all
from soundstage.scripts import SourceNode, SourceReport, read_source

_SEPARATOR: Final = "---"  # a line between prompts of one text file
_TEXTS: Final = frozenset({".txt", ".md", ".j2"})
_CODE: Final = frozenset({".py", ".js", ".cjs", ".mjs", ".ts", ".sh", ".bash", ".rb", ".pl", ".exe"})
_KEYS: Final = {"id", "label", "raw", "display"}
_REFUSED: Final = {
    "function": "prompts made by functions are not served: write the texts",
    "config": "a configuration of a prompt is not served: put it into the provider",
}


class SourcePrompt(NamedTuple):
    """A prompt, before its variables are put in."""

    text: str
    label: str
    group: str
    line: int
    key: str

    def rendered(self, variables: dict[str, Any], *, prefix: str = "", suffix: str = "") -> str:
        """The prompt with its variables; a conversation is JSON, each text in it rendered by itself.

        Raises:
            WrongValueError: for a template that cannot be used.
        """
        text = prefix + self.text + suffix
        try:
            data = json.loads(text) if text.lstrip()[:1] in ("[", "{") else None
        except ValueError:
            data = None
        if isinstance(data, dict | list):
            return json_text(render_all(data, variables), indent=2)
        return render(text, variables)


def read_prompts(node: SourceNode | None, reading: PromptfooReading) -> list[SourcePrompt]:
    """The prompts of a configuration; `{{prompt}}`, if it has none."""
    if node is None:
        return [SourcePrompt("{{prompt}}", "{{prompt}}", "", 0, "prompts")]
    return [prompt for key, item in each(node, "prompts") for prompt in _prompts(item, key, reading)]


def _prompts(item: SourceNode, key: str, reading: PromptfooReading) -> list[SourcePrompt]:
    if isinstance(item.value, str):
        return _of_text(item.value, "", item, key, reading)
    if not reading.known(item, key, _KEYS, _REFUSED, {}):
        return []
    given = part_of(item, "raw") or part_of(item, "id")
    label = part_of(item, "label") or part_of(item, "display")
    if given is None or not isinstance(given.value, str):
        reading.refuse(item, key, "expected `raw`, the text, or `id`, a file")
        return []
    return _of_text(given.value, str(label.value) if label is not None else "", item, key, reading)


def _of_text(
    text: str, label: str, item: SourceNode, key: str, reading: PromptfooReading
) -> list[SourcePrompt]:
    if text.startswith("exec:") or "://" in text.partition(" ")[0].partition("\n")[0].removeprefix(FILE):
        reading.refuse(item, key, f"prompts from {text.partition(':')[0]}: are not served: write the texts")
        return []
    if not text.startswith(FILE) and not _names_file(text, reading):
        return [SourcePrompt(text, label or text, label, item.line, key)]
    return [
        prompt
        for path in reading.paths(text, item, key)
        for prompt in _of_file(path, label, item, key, reading)
    ]


def _names_file(text: str, reading: PromptfooReading) -> bool:
    """Whether a text without `file://` names a file nevertheless."""
    ends = Path(text).suffix in _TEXTS | {".json", ".jsonl", ".yaml", ".yml", ".csv"}
    return "\n" not in text and len(text) < 500 and ends and (reading.folder / text).is_file()


def _of_file(
    path: Path, label: str, item: SourceNode, key: str, reading: PromptfooReading
) -> list[SourcePrompt]:
    name, ending = reading.relative(path), path.suffix.lower()
    if ending in _CODE:
        reading.refuse(item, key, f"prompts made by code are not served: {name}")
        return []
    if ending not in _TEXTS | {".json", ".yaml", ".yml"}:
        reading.refuse(item, key, f"expected a text file, JSON or YAML; got {name}")
        return []
    text = reading.text(path, item, key)
    if text is None:
        return []
    if ending in (".yaml", ".yml"):
        own = SourceReport(name)
        node = read_source(text, own, form="yaml")
        reading.report.problems += own.problems
        texts = [] if node is None else [json_text(node.value)]
    elif ending == ".txt":
        texts = [part.strip() for part in _parts(text) if part.strip()]
    else:
        texts = [text.strip() if ending == ".json" else text]
    several = len(texts) > 1
    return [
        SourcePrompt(
            one, (f"{label}: {name}: {one}" if several else label) or f"{name}: {one}", label, item.line, key
        )
        for one in texts
    ]


def _parts(text: str) -> list[str]:
    parts = [""]
    for line in text.splitlines(keepends=True):
        if line.strip() == _SEPARATOR:
            parts.append("")
        else:
            parts[-1] += line
    return parts


def conversation_of(text: str) -> str:
    """A prompt as a JSON list of messages, if it is one in JSON or YAML; else nothing.

    Raises:
        WrongValueError: for something that begins like a conversation and is none.
    """
    start = text.lstrip()
    if not start.startswith(("[", "- role:")):
        return ""
    own = SourceReport("")
    node = read_source(text, own, form="yaml" if start.startswith("-") else "json")
    data = None if node is None else node.value
    if isinstance(data, list) and data and all(isinstance(one, dict) and "role" in one for one in data):
        return json_text(data)
    if start.startswith("-"):
        raise ScriptError("this prompt begins like a conversation and is none", seen=start[:80])
    return ""
