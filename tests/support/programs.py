"""Texts for programs of tests that start fast: to load an official SDK takes a second of processor time or more."""

from __future__ import annotations

from typing import Final

ASK: Final = """
import json, os, urllib.request

def ask(messages, **settings):
    body = {"model": "m", "messages": messages, **settings}
    asked = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
        {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
    )
    with urllib.request.urlopen(asked) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]
"""
"""A function that asks a model on Chat Completions and returns its text; what is refused is an `HTTPError`."""
