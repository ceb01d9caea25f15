"""Requests without the token: nothing of them is learnt or kept."""

from __future__ import annotations

from soundstage.journal import RequestRefused
from soundstage.models import Script
from support.wires import run, serving


def test_a_stranger_teaches_the_redactor_nothing_and_leaves_no_text_behind():
    wrong = "\\\u2039&".encode() * 900

    async def main():
        async with serving(Script(), token="the-right-token") as served:
            learnt = []
            for name in ("meet", "add", "headers"):
                setattr(served.journal.redactor, name, lambda *given: learnt.append(given))
            answer = await served.http.post(
                "/v1/messages?key=a-wrong-key", headers={"x-api-key": wrong}, content=b'{"key": "planted"}'
            )
            assert answer.status_code == 401
            [refused] = served.events(RequestRefused)
            assert (refused.status, refused.body) == (401, "")
            assert learnt == []

    run(main())
