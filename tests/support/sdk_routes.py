"""The routes that the official SDKs ask for, read from their sources."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import anthropic
import openai
from google import genai

VERBS = re.compile(r"_(post|get|delete|put|patch|get_api_list)")
COLLECTIONS = {  # module of google-genai -> what its `{name}` names
    "batches": "batches/{name}",
    "caches": "cachedContents/{name}",
    "documents": "fileSearchStores/{store}/documents/{name}",
    "file_search_stores": "fileSearchStores/{name}",
    "models": "models/{model}",
    "operations": "operations/{name}",
    "tunings": "tuningJobs/{name}",
}
HOLDERS = {  # places in its paths that hold more than one part of a path
    "{models_url}": "models",
    "{model}": "models/{model}",
    "{parent}": "fileSearchStores/{store}",
    "{file_search_store_name}": "fileSearchStores/{store}",
    "{operationName}": "operations/{name}",
    "{resourceName}": "operations/{name}",
    "{{api_version}}": "v1beta",
    "{api_version}": "v1beta",
}


def routes_of(provider: str) -> set[str]:
    """Method and path of each route, as the SDK writes it, without the query: `POST /v1/messages`."""
    if provider == "gemini":
        found = _of_gemini(Path(genai.__file__).parent)
    elif provider == "openai":
        found = ((method, f"/v1{path}") for method, path in _generated(Path(openai.__file__).parent))
    else:
        found = _generated(Path(anthropic.__file__).parent)
    return {f"{method} {path}" for method, path in found}


def _generated(folder: Path) -> Iterator[tuple[str, str]]:
    """The routes in the resources of an SDK whose calls are `self._post(path, ...)`."""
    for file in (folder / "resources").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            found = isinstance(node, ast.Call) and VERBS.fullmatch(getattr(node.func, "attr", ""))
            if not found or not isinstance(node, ast.Call):
                continue
            given = node.args[0] if node.args else None
            if isinstance(given, ast.Call):  # path_template(path, ...)
                given = given.args[0]
            if not isinstance(given, ast.Constant):  # an address that an answer gave
                continue
            method = found[1]
            if method == "get_api_list":
                named = [one.value for one in node.keywords if one.arg == "method"]
                method = named[0].value if named and isinstance(named[0], ast.Constant) else "get"
            yield str(method).upper(), str(given.value).partition("?")[0]


def _of_gemini(folder: Path) -> Iterator[tuple[str, str]]:
    for file in [*folder.glob("*.py"), *(folder / "_gaos").glob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("test"):
                yield from _in_function(node, file.stem)
            elif isinstance(node, ast.Call):
                named = {
                    one.arg: one.value.value for one in node.keywords if isinstance(one.value, ast.Constant)
                }
                if {"method", "path"} <= named.keys():
                    yield named["method"], _whole(str(named["path"]), file.stem)


def _in_function(function: ast.FunctionDef, module: str) -> Iterator[tuple[str, str]]:
    """The paths that a function assigns to `path`, with the methods that it requests."""
    paths, methods = set(), set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "path":
            value = node.value.func.value if _formats(node.value) else node.value
            if isinstance(value, ast.Constant):
                paths.add(str(value.value))
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("request", "request_streamed"):
            methods |= {str(one.value).upper() for one in node.args[:1] if isinstance(one, ast.Constant)}
    for method in methods:
        for path in paths:
            yield method, _whole(path, module)


def _formats(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and getattr(value.func, "attr", "") == "format_map"


def _whole(path: str, module: str) -> str:
    path = path.partition("?")[0]
    if module == "tunings":
        path = path.removeprefix("{parent}/")
    if path.startswith("{name}"):
        path = COLLECTIONS[module] + path.removeprefix("{name}")
    for holder, held in HOLDERS.items() if "models/" not in path else ():
        path = path.replace(holder, held)
    path = path.lstrip("/")
    return f"/{path}" if path.startswith(("v1beta/", "upload/")) else f"/v1beta/{path}"
