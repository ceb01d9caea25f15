"""A planted key is found in no file that a run has written, however it came in and whatever wrote it."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
import urllib.parse
from pathlib import Path

import httpx
import pytest

from soundstage.host import HostBuilder
from soundstage.journal import ModelRequested, RequestRefused, read_journal
from soundstage.messages import ModelRequest, user
from soundstage.models import Script, complete
from support.wires import WIRES

IN_ENVIRONMENT = "planted/in+the=environment-4711"
IN_HEADER = "planted-in-a-header-4712"
IN_QUERY = "planted-in-the-query-4713"
SHAPED = "sk-ant-api03-plantedPlantedPlantedPlanted4714"  # known by its form alone
SECRETS = (IN_ENVIRONMENT, IN_HEADER, IN_QUERY, SHAPED)
SCRIPT = "rules:\n  - when: {user: hello}\n    reply: hi there\n"
URL_SAFE = str.maketrans("+/", "-_")
MARK = "a-word-that-is-no-secret"


def base64s(secret):
    """Texts with the secret inside, and the part of them that depends on the secret alone.

    Three bytes are four characters, so there are three places where the secret can begin.
    """
    for shift in range(3):
        text = base64.b64encode(b"x" * shift + secret.encode() + b"yy").decode()
        inside = text[4 if shift else 0 : (shift + len(secret)) // 3 * 4]
        yield text, inside
        yield text.translate(URL_SAFE), inside.translate(URL_SAFE)


def carried(secret):
    """How a secret travels, and what a file must not hold then: as it is, in URLs, JSON in JSON, base64."""
    yield secret, secret
    if secret != SHAPED:  # of that one nobody says that it is a secret; only its own form tells
        for text in (urllib.parse.quote(secret, safe=""), json.dumps(json.dumps(secret))[3:-3]):
            yield text, text
        yield from base64s(secret)


def said(secrets):
    """A message that holds secrets in all forms."""
    return " ".join([f"hello, {MARK}", *(text for secret in secrets for text, _ in carried(secret))])


def found(secret, data):
    return sorted({form for _, form in carried(secret) if form.encode() in data})


def leaks(folder: Path):
    """The files below `folder` that hold a secret in any form."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [
        f"{path.name}: {form}"
        for path in files
        for secret in SECRETS
        for form in found(secret, path.read_bytes())
    ]


def shows_something(path: Path):
    """The file is what it should be, and not merely empty."""
    text = path.read_text()
    return MARK in text and "[redacted]" in text


def environment(home):
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PLANTED_API_KEY": IN_ENVIRONMENT,
        "PYTHONDONTWRITEBYTECODE": "1",
    }


CONTROL = {"x-soundstage-control": "the-tokens-of-tests"}


async def ask_everything(url, control=None):
    """Every way in: plain and streamed, refused, not found, not allowed, asked for on the side."""
    headers = {"authorization": f"Bearer {IN_HEADER}", "x-api-key": IN_HEADER, "cookie": f"s={IN_HEADER}"}
    text = said((IN_ENVIRONMENT, IN_HEADER, SHAPED))
    async with httpx.AsyncClient(base_url=url, timeout=30, trust_env=False, verify=False) as http:
        bad = f'{{"messages": "{text}"'
        # refused requests first: their headers must be known before their bodies are kept
        assert (await http.post("/v1/messages", content=bad, headers=headers)).status_code == 400
        assert (await http.post("/v1/nothing", content=text, headers=headers)).status_code == 404
        padded = "x" * (2000 - len(IN_HEADER) // 2) + IN_HEADER  # the journal keeps 2000 characters of it
        assert (await http.post("/v1/responses", content=padded, headers=headers)).status_code == 400
        gemini = WIRES["gemini"]
        answer = await http.post(f"{gemini.path}?key={IN_QUERY}", json=gemini.body(said((IN_QUERY,)), ""))
        assert answer.status_code == 200
        for wire in WIRES.values():
            for path, stream in ((wire.path, False), (wire.stream_path, True)):
                body = wire.body(text, f"You know {IN_HEADER}.")
                if wire.path == wire.stream_path:  # otherwise the path says it
                    body["stream"] = stream
                assert (await http.post(path, json=body, headers=headers)).status_code == 200
        count = WIRES["anthropic"].body(text, "")
        assert (await http.post("/v1/messages/count_tokens", json=count, headers=headers)).status_code == 200
        shown = await http.get("/_soundstage/journal", headers=control or CONTROL)
        assert MARK in shown.text
        assert [form for secret in SECRETS for form in found(secret, shown.content)] == []


def test_serve_and_show_write_no_planted_key(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "script.yaml").write_text(SCRIPT)
    program = [sys.executable, "-m", "soundstage.cli"]

    async def main():
        process = await asyncio.create_subprocess_exec(
            *program,
            *("serve", "--script", "script.yaml", "--port", "0", "--journal", "run.jsonl"),
            *("--control-token", *CONTROL.values()),
            cwd=folder,
            env=environment(folder),
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            line = (await process.stdout.readline()).decode()
            await ask_everything(line.split()[-1])
            process.terminate()
            await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.communicate()
        return process.returncode

    assert asyncio.run(main()) == 0
    records = read_journal(folder / "run.jsonl")
    kinds = [type(record.event) for record in records]
    assert (kinds.count(RequestRefused), kinds.count(ModelRequested)) == (3, 9)
    shown = subprocess.run(
        [*program, "show", "run.jsonl", "--html", "trace.html"],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        check=True,
    )
    text = subprocess.run(
        [*program, "show", "run.jsonl"], cwd=folder, env=environment(folder), capture_output=True, check=True
    )
    (folder / "printed").write_bytes(shown.stdout + shown.stderr + text.stdout + text.stderr)
    assert leaks(folder) == []
    assert shows_something(folder / "run.jsonl")
    assert shows_something(folder / "trace.html")


def test_half_a_secret_at_the_edge_of_what_is_kept_is_not_kept(tmp_path):
    """A refused body is cut off in the journal; a secret across the edge must not leave its beginning."""
    from soundstage.journal import Journal, Redactor
    from soundstage.models import ScriptedModel
    from soundstage.wire import ModelServer

    path = tmp_path / "run.jsonl"

    async def main():
        journal = Journal(path, redactor=Redactor([IN_HEADER]))
        server = ModelServer(ScriptedModel(Script()), journal)
        await server.start()
        async with httpx.AsyncClient(base_url=server.url, trust_env=False, verify=False) as http:
            for inside in range(1, len(IN_HEADER)):
                await http.post("/v1/messages", content="x" * (2000 - inside) + IN_HEADER)
        await server.stop()
        journal.close()

    asyncio.run(main())
    assert IN_HEADER[:6] not in path.read_text()


def test_a_host_writes_no_planted_key(tmp_path, monkeypatch):
    monkeypatch.setenv("PLANTED_API_KEY", IN_ENVIRONMENT)
    path = tmp_path / "run.jsonl"
    script = Script()
    script.on(user="hello").reply("hi there")

    async def app(world):
        while (line := await world.console.read_line()) is not None:
            answer = await complete(world.model, ModelRequest(model="m", messages=(user(line),)))
            world.console.write_line(f"{answer.text}; you said {line}")

    async def body(host):
        await ask_everything(host.server.url, host.server.control_headers)
        await host.console.send(said((IN_ENVIRONMENT, SHAPED)))
        await host.console.expect("hi there")

    builder = HostBuilder().with_script(script).with_server().with_console().with_app(app)
    builder.with_journal(path).run(body)
    assert leaks(tmp_path) == []
    assert shows_something(path)


def test_the_page_of_a_failed_test_holds_no_planted_key(pytester, monkeypatch):
    monkeypatch.setenv("PLANTED_API_KEY", IN_ENVIRONMENT)
    pytester.makeini("[pytest]\naddopts = -p no:randomly -p no:cacheprovider -p no:xdist\n")
    pytester.makepyfile(
        f"""
        import httpx

        SAID = {said((IN_ENVIRONMENT, IN_HEADER, SHAPED))!r}

        def test_it(script, model_server):
            script.on(user="hello").reply("hi there")
            body = {{"model": "m", "messages": [{{"role": "user", "content": SAID}}]}}
            headers = {{"authorization": "Bearer {IN_HEADER}"}}
            with httpx.Client(trust_env=False, verify=False) as http:
                http.post(model_server.openai_url + "/chat/completions", json=body, headers=headers)
            assert False, "on purpose"
        """
    )
    result = pytester.runpytest_subprocess("--soundstage-html", "pages", "--tb=short")
    result.assert_outcomes(failed=1)
    pages = pytester.path / "pages"
    (pages / "printed.txt").write_text("\n".join(result.outlines))
    assert leaks(pages) == []
    [page] = [page for page in pages.glob("*.html") if page.name != "index.html"]
    assert shows_something(page)
    assert "[redacted]" in (pages / "printed.txt").read_text()


@pytest.mark.parametrize("secret", SECRETS)
def test_a_leak_in_any_form_would_be_seen(secret):
    """The tests above look in the right way."""
    assert all(found(secret, f"... {text} ...".encode()) for text, _ in carried(secret))
    assert all(len(form) > 16 for _, form in carried(secret))
    assert found(secret, b"nothing here") == []
