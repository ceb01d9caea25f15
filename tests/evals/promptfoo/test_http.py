"""Providers that are asked by HTTP: promptfoo itself and we send the same requests, and come to the same outcomes."""

from __future__ import annotations

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml

from support.promptfoo import differences, need_promptfoo

pytestmark = pytest.mark.full  # programs on node
COMPARED = ("content-type", "authorization", "x-city", "x-fixed")
ODD = 'Paris "and"\nRome {x} \\ über~* &='
CODE = """\
module.exports = (prompt, vars) => ({asked: prompt, where: vars.city});
module.exports.read = (json, text, context) => ({output: `${context.response.status} ${json.city} ${text.length}`});
module.exports.good = status => status < 500;
"""


class Answers(BaseHTTPRequestHandler):
    """Answers by the path, and remembers each request with who sent it."""

    def answer(self):
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length).decode()
        headers = tuple((name, self.headers[name]) for name in COMPARED if self.headers[name] is not None)
        sender = "ours" if self.headers["user-agent"] == "soundstage" else "theirs"
        self.server.received.append((sender, (self.command, self.path, headers, body)))
        place = self.path.partition("?")[0].strip("/").partition("/")
        status, kind, text = self.reply(place[0], place[2], body)
        self.send_response(status)
        if status in (302, 303, 307):
            self.send_header("location", text)
            text = ""
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text.encode())))
        self.send_header("x-kind", "odd")
        self.end_headers()
        self.wfile.write(text.encode())

    def reply(self, kind, rest, body):
        if kind == "status":
            return int(rest), "text/plain", f"no: {body}"
        if kind == "to":
            status, _, path = rest.partition("/")
            return int(status), "text/plain", f"/{path}"
        if kind == "raw":
            return 200, "application/json", rest
        if kind == "text":
            return 200, "text/plain", f"You said: {body}"
        return 200, "text/plain", json.dumps({"city": "Paris", "said": body, "degrees": 24})

    do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815  (names of the library)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as found:
        found.received = []
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def provider(config=None, *, path="/json"):
    return {"id": "http", "config": {"url": f"BASE{path}", **(config or {})}}


JSON = {"type": "javascript", "value": "output.city === 'Paris'"}
SAYS = {"type": "contains", "value": "said"}
CONFIGURATIONS = {
    "a body that is data": [
        provider(
            {"method": "POST", "body": {"q": "{{prompt}}", "n": 1, "deep": [{"c": "{{city}}"}, True, None]}}
        ),
        provider({"method": "PUT", "body": ["{{prompt}}", "{{ n }}", {"k{{n}}": "{{list}}"}]}),
    ],
    "texts in data that are data": [
        provider(
            {
                "method": "POST",
                "body": {"q": "{{json}}", "l": "{{ list | dump }}", "broken": "{not", "s": " [1] "},
            }
        )
    ],
    "a body that is a text": [
        provider({"method": "POST", "body": " q={{prompt}}&n={{n}} "}, path="/text"),
        provider(
            {"method": "POST", "body": "{{city}}", "headers": {"Content-Type": "text/plain"}}, path="/text"
        ),
    ],
    "JSON in a text": [
        provider(
            {"method": "POST", "body": text, "headers": {"Content-Type": "application/json; charset=utf-8"}}
        )
        for text in (
            '{"q": "{{prompt}}", "n": {{n}}}',
            '{"q": {{ prompt | dump }}',
            '"{{city}}"',
            "{{n}}",
            "plain {{city}}",
        )
    ],
    "headers": [
        provider(
            {
                "method": "POST",
                "body": {"a": 1},
                "headers": {
                    "X-City": "{{ city | upper }}",
                    "x-fixed": "yes",
                    "Authorization": "Bearer {{env.HTTP_TOKEN}}",
                },
            }
        )
    ],
    "a GET": [
        provider({"method": "GET", "queryParams": {"q": "{{prompt}}", "n": "{{n}}"}}, path="/json?a=b+c&d="),
        provider({"method": "GET", "body": "unsent"}),
        provider({"body": {"unsent": "{{prompt}}"}}),
        provider({"method": "GET"}, path="/json/{{city}}/{{n}}"),
        provider({"method": "{{verb}}", "body": {"q": "{{city}}"}}),
        {"id": "BASE/json/{{city}}", "config": {"method": "GET"}},
        {"id": "BASE/wrong", "config": {"method": "GET", "url": "BASE/json/right"}},
    ],
    "the wrong content type": [
        provider({"method": "POST", "body": {"a": 1}, "headers": {"content-type": "text/plain"}}),
        provider({"method": "GET", "body": {"a": 1}}),
    ],
    "a prompt that is changed": [
        provider(
            {"method": "POST", "body": {"q": "{{prompt}}", "kept": "{{city}}"}, "transformRequest": code}
        )
        for code in (
            "({asked: prompt, kept: vars.city})",
            "prompt.toUpperCase()",
            "(prompt, vars) => `${vars.n}: ${prompt}`",
            "const p = prompt.length; return {length: p}",
            "file://code.js",
            "prompt.no.such",
        )
    ],
    "a text from a changed prompt": [
        provider(
            {"method": "POST", "body": "q={{prompt}}", "transformRequest": "prompt.length"}, path="/text"
        ),
    ],
    "status": [
        provider({"method": "GET", **({"validateStatus": code} if code else {})}, path=f"/status/{status}")
        for status, code in (
            (418, ""),
            (418, "status < 400"),
            (200, "status >= 200 && status < 300"),
            (422, "status => status === 422"),
            (409, "function (status) { return status < 500; }"),
            (409, "file://code.js:good"),
        )
    ],
    "responses": [
        provider({"method": "POST", "body": {"q": "{{city}}"}, key: code})
        for key, code in (
            ("transformResponse", "json.city"),
            ("responseParser", "[json.degrees]"),
            ("transformResponse", "({output: json.city, extra: 1})"),
            ("transformResponse", "({error: 'it says no'})"),
            (
                "transformResponse",
                "(json, text, context) => `${context.response.status} ${context.response.headers['x-kind']}`",
            ),
            ("transformResponse", "text.slice(0, 5)"),
            ("transformResponse", "file://code.js:read"),
            ("transformResponse", "json.no.such"),
            ("transformResponse", "json.missing"),
            ("transformResponse", "json"),
        )
    ],
    "responses that are short": [
        provider({"method": "GET"}, path=f"/raw/{text}")
        for text in ("0", "false", "null", "%22hi%22", "[1,2]", "")
    ],
    "redirects": [
        provider({"method": "POST", "body": {"q": "{{city}}"}}, path=f"/to/{status}/json")
        for status in (302, 303, 307)
    ],
}
ASSERTS = [
    {"type": "javascript", "value": "typeof output === 'object'"},
    {"type": "javascript", "value": "JSON.stringify(output).length / 1000"},
    {"type": "contains", "value": "Paris"},
    {"type": "is-json"},
]
TESTS = [
    {
        "vars": {"city": city, "n": 7, "json": '{"a": [1]}', "list": ["x", "y"], "verb": "POST"},
        "options": {"disableVarExpansion": True},
        "assert": ASSERTS,
    }
    for city in ("Paris", ODD)
]


NAMES = list(CONFIGURATIONS)
NEVER_SENT = 3  # of providers, at most: those that are wrong before they ask


@pytest.mark.parametrize("names", [NAMES[:7], NAMES[7:]], ids=["requests", "code and responses"])
def test_the_same_requests_are_sent_and_come_to_the_same_outcomes(names, server, tmp_path, monkeypatch):
    need_promptfoo()
    folder, scratch = tmp_path / "configured", tmp_path / "scratch"
    folder.mkdir()
    scratch.mkdir()
    (folder / "code.js").write_text(CODE)
    providers = [
        {**one, "label": f"{name}, {number}"}
        for name in names
        for number, one in enumerate(CONFIGURATIONS[name])
    ]
    config = {"prompts": ["Weather in {{city}}?"], "providers": providers, "tests": TESTS}
    text = yaml.safe_dump(config, sort_keys=False, allow_unicode=True)
    (folder / "promptfooconfig.yaml").write_text(
        text.replace("BASE", f"http://127.0.0.1:{server.server_address[1]}")
    )
    monkeypatch.setenv("HTTP_TOKEN", "not-a-real-token")
    found, _ = asyncio.run(
        differences(folder / "promptfooconfig.yaml", scratch, {"HTTP_TOKEN": "not-a-real-token"})
    )
    assert not found, "\n".join(found)
    sent = {
        who: sorted(one for sender, one in server.received if sender == who) for who in ("theirs", "ours")
    }
    assert sent["ours"] == sent["theirs"]
    assert len(sent["ours"]) >= 2 * (len(providers) - NEVER_SENT)
