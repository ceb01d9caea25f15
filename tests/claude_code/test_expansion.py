"""The text that a command should become, against what the CLI makes of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from soundstage.claude_code import bundled_cli, command_pieces, expand_command
from soundstage.claude_code._commands import Expansion, forked_expansion
from soundstage.claude_code._words import argument_words

needs_cli = pytest.mark.skipif(
    bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
)

WHOLE = ("", "x y")
CASES: dict[str, tuple[str, tuple[str, ...]]] = {
    "whole": ("---\ndescription: d\n---\nA $ARGUMENTS b, $ARGUMENTSx, $ARGUMENTS[x].\n", WHOLE),
    "places": ("0=$ARGUMENTS[0] 1=$ARGUMENTS[1] 2=$ARGUMENTS[2] 01=$ARGUMENTS[01] $0[0] $1", WHOLE),
    "numbers": ("$10 $1.50 $1a $1_ $01 $1$0 a$0b $-1 $0-$1 $0x $0\u00e9", WHOLE),
    "absent": ("only $5 and $ARGUMENTS[5]", WHOLE),
    "escaped": (r"\$1 \$ARGUMENTS \$ARGUMENTS[1] \\$1 \\\$0 \$5 \$who \${CLAUDE_SESSION_ID}", WHOLE),
    "only-escaped": (r"It costs \$1.", WHOLE),
    "named": (
        "---\ndescription: d\narguments: [who, what]\n---\n"
        r"$who; $what; $whoever $what_not $who.x ${who} \$who $who[0] $0 $ARGUMENTS" + "\n",
        ("", "x", "x y", "x y z", "'$what' y", "'$1' y", r"\$who y", "'a$&b' c"),
    ),
    "named-text": ("---\ndescription: d\narguments: who what\n---\n<$who> <$what>", WHOLE),
    "named-commas": ("---\ndescription: d\narguments: who, what\n---\n<$who> <$what>", WHOLE),
    "named-list": ("---\ndescription: d\narguments:\n  - who\n  - name: what\n---\n<$who> <$what>", WHOLE),
    "named-number": ("---\ndescription: d\narguments: [1, what]\n---\n$1 $what", WHOLE),
    "named-oddly": ("---\ndescription: d\narguments: [w-o, a b, $x]\n---\n$w-o $x $a b $$x", ("x y z",)),
    "named-alike": ("---\ndescription: d\narguments: [a, ab, ARGUMENTS]\n---\n$ab $a $abc $ARGUMENTS", WHOLE),
    "named-unused": ("---\ndescription: d\narguments: [who]\n---\nNothing.", WHOLE),
    "variables": (
        "${CLAUDE_PLUGIN_ROOT} ${CLAUDE_PLUGIN_DATA} ${CLAUDE_PROJECT_DIR} ${CLAUDE_SESSION_ID} ${CLAUDE_EFFORT}",
        ("", "q"),
    ),
    "no-variables": ("${CLAUDE_SKILL_DIR} $CLAUDE_PLUGIN_ROOT ${CLAUDE_PLUGIN_ROOT:-x}", ("",)),
    "variable-given": ("A $ARGUMENTS, $0.", ("${CLAUDE_PLUGIN_ROOT} $0 $1",)),
    "variable-appended": ("A", ("${CLAUDE_PLUGIN_ROOT} $0",)),
    "lines": ("---\r\ndescription: d\r\narguments: [who]\r\n---\r\nOne $who\r\n\r\n\ttwo  \r\n\r\n", WHOLE),
    "lone-return": ("One\rtwo\nthree", WHOLE),
    "space": ("---\ndescription: d\n---\n\n \t\u00a0\ufeff One\n\n", WHOLE),
    "no-front": ("\n\n  ---\ndescription: d\n---\nBody $0", WHOLE),
    "empty-front": ("---\n---\nBody $0\n", WHOLE),
    "no-body": ("---\ndescription: d\n---", WHOLE),
    "open-front": ("---\ndescription: d\nBody $0", WHOLE),
    "dashes-inside": ("---\ndescription: a --- b\narguments: [who]\n---\nBody $who\n", WHOLE),
    "dashes-more": ("---\ndescription: d\narguments: [who]\n----\nBody $who\n", WHOLE),
    "dashes-same-line": ("--- \ndescription: d\narguments: [who]\n---Body $who\n---\nMore", WHOLE),
    "no-yaml": ("---\ndescription: d: e: f\narguments: [who]\nargument-hint: [a] [b]\n---\n<$who>", WHOLE),
    "mark": ("\ufeff---\ndescription: d\n---\nBody $0\n", WHOLE),
    "forked": ("---\ndescription: d\ncontext: fork\narguments: [who]\n---\nDo $who in a fork.\n", WHOLE),
    "forked-off": ("---\ndescription: d\ncontext: fork\nagent: Explore\n---\nLook.\n", WHOLE),
}
AGENTS = {"forked": "general-purpose", "forked-off": "Explore"}
WORDS = [
    ("a  b\tc", ["a", "b", "c"]),
    ("'a b' \"c d\" ''", ["a b", "c d", ""]),
    ("it's me", ["it's me"]),
    ("it's what's left", ["its whats", "left"]),
    ('x "a b', ["x", '"a b']),
    (r"a\ b c\;d \\", ["a b", "c;d", "\\"]),
    (r'"a\"b" c', [r"a\"b", "c"]),
    ("a; b", ["a"]),
    ("fix it (see #12) now", ["fix", "it"]),
    ("a #b c", ["a"]),
    ("#a b", ["#a", "b"]),
    ("| a", ["a"]),
    ("|", ["|"]),
    ("> b c", ["c"]),
    ("2>1 x", ["x"]),
    ("a -> b", ["a", "-"]),
    ("costs $5 now", ["costs", "now"]),
    ("$x y", ["$x", "y"]),
    ('a "$x" b$x', ["a", "$x", "b$x"]),
    ("a=1 b", ["b"]),
    ("a=1 b=2", ["a=1", "b=2"]),
    ("a b=2", ["a", "b=2"]),
    ("if the tests fail", ["the", "tests", "fail"]),
    ("a = b", ["a", "b"]),
    ("a\nb", ["a"]),
    ("", []),
]


@needs_cli
def test_every_rule_is_the_one_of_the_cli(
    with_claude: Callable[..., Any], make_plugin: Callable[..., Path], tmp_path: Path
) -> None:
    folder = make_plugin(tmp_path / "demo")
    (folder / "commands").mkdir()
    words = {"words": ("<$0><$1><$2><$3>", tuple(text for text, _ in WORDS))}
    for name, (file, _) in (CASES | words).items():
        (folder / f"commands/{name}.md").write_bytes(file.encode())

    async def body(run: Any) -> None:
        different = []
        for name, (_, given) in (CASES | words).items():
            for arguments in given:
                turn = await run.claude.run_command(f"/demo:{name}", arguments)
                wanted = Expansion(
                    command=f"demo:{name}",
                    arguments=arguments,
                    text=expand_command(
                        folder / f"commands/{name}.md",
                        arguments,
                        plugin_root=str(folder),
                        plugin_data=str(run.claude.home / ".claude/plugins/data/demo-inline"),
                        project_dir=str(run.workspace.root),
                        session_id=turn.session_id,
                        effort="medium",
                    ),
                    agent=AGENTS.get(name, ""),
                )
                if turn.expansion != wanted:
                    different.append((turn.expansion, wanted))
        assert different == []

    with_claude(body, plugin_dirs=[folder])


@pytest.mark.parametrize(("arguments", "words"), WORDS)
def test_words_are_those_of_the_first_shell_command(arguments: str, words: list[str]) -> None:
    assert argument_words(arguments) == words


def test_the_text_of_a_file_and_the_file_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_bytes(b"---\r\ndescription: d\r\n---\r\nOne\r\n$0\r\n")
    assert expand_command(path, "a") == expand_command(path.read_bytes().decode(), "a") == "One\r\na\r\n"


def test_what_only_a_run_can_tell_is_a_piece_of_its_own() -> None:
    pieces = command_pieces("On !`git show $0` in ${CLAUDE_PROJECT_DIR}.", "main")
    assert [(piece.offset, piece.text) for piece in pieces if not piece.certain] == [
        (3, "!`git show main`"),
        (21, "${CLAUDE_PROJECT_DIR}"),
    ]
    assert "ARGUMENTS" not in "".join(piece.text for piece in pieces)


def test_a_turn_without_a_fork_has_no_forked_command() -> None:
    assert forked_expansion("/demo:x", (), ()) is None
