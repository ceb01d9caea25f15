"""Python expressions that can compute and nothing else.

An expression is taken apart once, before anything runs: only the nodes, functions and methods of the tables below are
let through. There is no attribute but these methods, and no name with an underscore, through which Python reaches
everything else; and nothing that makes much of little: no power, product, or format, and no third loop in a loop.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable
from typing import Any, Final

from soundstage.errors import WrongValueError, did_you_mean

LONGEST: Final = 2000
DEEPEST: Final = 2  # loops in loops
FUNCTIONS: Final[dict[str, Any]] = {
    name: getattr(builtins, name)
    for name in [
        "abs",
        "all",
        "any",
        "bool",
        "float",
        "int",
        "len",
        "list",
        "max",
        "min",
        "round",
        "set",
        "sorted",
        "str",
        "sum",
        "tuple",
    ]
}
METHODS: Final = frozenset(
    [
        "casefold",
        "count",
        "endswith",
        "find",
        "get",
        "index",
        "isdigit",
        "items",
        "keys",
        "lower",
        "lstrip",
        "removeprefix",
        "removesuffix",
        "rstrip",
        "split",
        "splitlines",
        "startswith",
        "strip",
        "upper",
        "values",
    ]
)
_NODES: Final = tuple(
    getattr(ast, name)
    for name in [
        "Expression",
        "Constant",
        "Name",
        "Load",
        "Store",
        "IfExp",
        "Subscript",
        "Slice",
        "Attribute",
        "BoolOp",
        "And",
        "Or",
        "UnaryOp",
        "Not",
        "USub",
        "UAdd",
        "Compare",
        "cmpop",
        "Call",
        "BinOp",
        "Add",
        "Sub",
        "Div",
        "FloorDiv",
        "List",
        "Tuple",
        "Set",
        "Dict",
        "GeneratorExp",
        "ListComp",
        "SetComp",
        "comprehension",
    ]
)

Calculate = Callable[[Callable[[str], Any]], Any]


def compile_expression(text: str, names: Iterable[str]) -> Calculate:
    """A function that computes an expression; it gets a function that gives the value of a name.

    Args:
        text: the expression.
        names: names that it may use.

    Raises:
        WrongValueError: for something that is no expression, or does more than compute.

    Example:
        >>> compile_expression("len(output) > 3", ["output"])(lambda name: "hello")
        True
    """
    if len(text) > LONGEST:
        raise WrongValueError(
            "an expression is short", expected=f"at most {LONGEST} characters", seen=str(len(text))
        )
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise WrongValueError("this is no Python expression", seen=f"{text}: {error}") from None
    if _loops(tree) > DEEPEST:
        raise _refused(f"more than {DEEPEST} loops in each other")
    nodes = list(ast.walk(tree))
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    known = set(names)
    for node in nodes:
        _require_plain(node, known | bound | FUNCTIONS.keys())
    code = compile(tree, "<expression>", "eval")
    used = {node.id for node in nodes if isinstance(node, ast.Name)} & (known - bound)

    def calculate(value_of: Callable[[str], Any]) -> Any:
        values = {name: value_of(name) for name in sorted(used)}
        return eval(code, {"__builtins__": {}, **FUNCTIONS, **values})  # noqa: S307  (only nodes of the tables above)

    return calculate


def _loops(tree: ast.AST) -> int:
    """How many loops are in each other."""
    deepest, waiting = 0, [(tree, 0)]
    while waiting:  # without recursion: a long sum is a deep tree
        node, depth = waiting.pop()
        depth += len(getattr(node, "generators", ()))
        deepest = max(deepest, depth)
        waiting += [(part, depth) for part in ast.iter_child_nodes(node)]
    return deepest


def _require_plain(node: ast.AST, known: set[str]) -> None:
    if not isinstance(node, _NODES):
        raise _refused(type(node).__name__)
    if isinstance(node, ast.Name) and node.id not in known:
        raise WrongValueError(
            f"the expression uses {node.id!r}",
            expected=", ".join(sorted(known)),
            hint=did_you_mean(node.id, known),
        )
    if isinstance(node, ast.Attribute) and node.attr not in METHODS:
        raise _refused(f".{node.attr}")
    if isinstance(node, ast.Call) and not isinstance(node.func, ast.Name | ast.Attribute):
        raise _refused("a call of something else than a function or a method")


def _refused(seen: str) -> WrongValueError:
    functions, methods = (", ".join(sorted(names)) for names in (FUNCTIONS, METHODS))
    return WrongValueError(
        "an expression can only compute",
        expected=f"comparisons, sums, {functions}, and the methods {methods}",
        seen=seen,
        hint="`python: module:function` calls a function of yours",
    )
