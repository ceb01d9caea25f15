"""Providers that are asked by HTTP: what is refused by name, where requests may go, and what belongs to a suite."""

from __future__ import annotations

import asyncio
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from soundstage.evals import EvalConfigError, load_suite, run_suite
from soundstage.journal import EgressTried

POST = {"method": "POST", "body": {"q": "{{prompt}}"}}
TESTS = [{"vars": {"o": "x"}, "assert": [{"type": "contains", "value": "sunny"}]}]


@pytest.fixture
def server():
    """Sends everybody who asks for /away on to a host outside."""

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            away = self.path == "/away"
            self.send_response(307 if away else 200)
            if away:
                self.send_header("location", "http://192.0.2.1:8080/stolen")
            self.send_header("content-length", "0" if away else "5")
            self.end_headers()
            self.wfile.write(b"" if away else b"sunny")

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{found.server_address[1]}"
        found.shutdown()
        thread.join()


def run(path, store):
    report = asyncio.run(run_suite(load_suite(path), store=store))
    return report.cases[0].runs[0]


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({**POST, "request": "POST / HTTP/1.1"}, "`request` of http://127.0.0.1 is not served: raw requests"),
        ({"multipart": {}}, "`multipart`"),
        ({**POST, "auth": {"type": "bearer", "token": "x"}}, "write the header, with {{env.NAME}}"),
        ({**POST, "signatureAuth": {}}, "`signatureAuth`"),
        ({**POST, "tls": {}}, "`tls`"),
        ({**POST, "session": {}}, "`session`"),
        ({**POST, "sessionParser": "data"}, "`sessionParser`"),
        ({**POST, "tokenEstimation": {}}, "`tokenEstimation`"),
        ({**POST, "tools": []}, "`tools`"),
        ({**POST, "tool_choice": "auto"}, "`tool_choice`"),
        ({**POST, "transformToolsFormat": "openai"}, "`transformToolsFormat`"),
        ({**POST, "useHttps": True}, "`useHttps`"),
        ({**POST, "maxRetries": 2}, "requests are not sent again"),
        ({**POST, "transformRespone": "text"}, "did you mean 'transformResponse'"),
        ({"method": "POST"}, "expected `body`, or `method: GET`"),
        ({"method": "POST", "body": ""}, "has nothing to send"),
        ({"method": "POST", "body": 5}, "`body` of http://127.0.0.1 is data or a text"),
        ({"method": "POST", "body": {"q": "file://body.json"}}, "names a file, which is not served"),
        ({"method": "POST", "body": "{{evaluationId}}"}, "`evaluationId`"),
        ({**POST, "headers": {"x-number": 5}}, "`headers` of http://127.0.0.1 has texts by name"),
        ({**POST, "queryParams": ["a"]}, "`queryParams`"),
        ({**POST, "url": 5}, "`url` of http://127.0.0.1 is a text"),
        ({**POST, "transformResponse": "file://read.py"}, "is JavaScript"),
        ({**POST, "validateStatus": "file://nothing.js"}, "there is no nothing.js"),
    ],
)
def test_what_is_not_served_is_refused_by_name_and_line(configured, config, told):
    path = configured({"providers": [{"id": "http://127.0.0.1", "config": config}], "tests": TESTS})
    with pytest.raises(EvalConfigError) as raised:
        load_suite(path)
    words = " ".join(str(raised.value).split())
    assert told in words, words
    assert "promptfooconfig.yaml:" in words


@pytest.mark.parametrize("name", ["http", "https"])
def test_a_provider_without_an_address_is_refused(configured, name):
    path = configured({"providers": [{"id": name, "config": POST}], "tests": TESTS})
    with pytest.raises(EvalConfigError, match="has no address"):
        load_suite(path)


def test_the_text_of_a_response_is_the_answer(configured, server, store):
    path = configured({"providers": [{"id": server, "config": POST}], "tests": TESTS})
    found = run(path, store)
    assert found.outcome == "passed", found.reason
    told = [str(one.event) for one in store.open(found.run).journal()]
    assert f"POST {server}: 200" in "\n".join(told)


def test_a_host_outside_is_asked_by_nobody_who_has_not_allowed_it(configured, store, monkeypatch):
    monkeypatch.delenv("SOUNDSTAGE_ALLOW_LIVE", raising=False)
    config = {**POST, "url": "http://{{ o }}.example.com/v1"}
    found = run(configured({"providers": [{"id": "http", "config": config}], "tests": TESTS}), store)
    assert found.outcome == "error"
    assert "outside of this machine: x.example.com" in found.reason
    assert "SOUNDSTAGE_ALLOW_LIVE=1" in found.reason


def test_a_redirect_to_a_host_outside_is_refused_and_stands_in_the_journal(
    configured, server, store, monkeypatch
):
    monkeypatch.delenv("SOUNDSTAGE_ALLOW_LIVE", raising=False)
    path = configured({"providers": [{"id": f"{server}/away", "config": POST}], "tests": TESTS})
    found = run(path, store)
    assert found.outcome == "failed"
    assert "EgressRefused" in found.reason
    events = [one.event for one in store.open(found.run).journal()]
    tried = [(one.host, one.port) for one in events if isinstance(one, EgressTried)]
    assert tried == [("192.0.2.1", 8080)]


def test_a_server_that_is_not_there_is_an_error_and_no_failure(configured, server, store):
    config = {**POST, "url": "http://127.0.0.1:1/"}  # a port on which nobody listens
    found = run(configured({"providers": [{"id": "http", "config": config}], "tests": TESTS}), store)
    assert (found.outcome, "the provider cannot be reached" in found.reason) == ("error", True)


def test_code_of_a_provider_belongs_to_its_suite(configured):
    config = {**POST, "transformResponse": "file://read.js"}
    given = {"providers": [{"id": "http://127.0.0.1", "config": config}], "tests": TESTS}
    before = load_suite(configured(given, read__js="module.exports = json => 1")).fingerprint
    assert load_suite(configured(given, read__js="module.exports = json => 1")).fingerprint == before
    assert load_suite(configured(given, read__js="module.exports = json => 2")).fingerprint != before


def test_a_suite_of_ours_has_such_a_provider_too(tmp_path, server, store):
    (tmp_path / "suite.yaml").write_text(
        f"agent: {{provider: {{http: {{url: {server}, method: POST, body: '{{{{prompt}}}}'}}}}}}\n"
        "cases: [{name: a, input: x, expect: [contains: sunny]}]\n"
    )
    found = run(tmp_path / "suite.yaml", store)
    assert found.outcome == "passed", found.reason
