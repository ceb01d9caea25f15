from __future__ import annotations

import json
from typing import Any

import pytest
from anthropic.types import ModelInfo
from google.genai import types
from openai.types import Model

from soundstage.wire import _catalog as catalog

LISTS = [
    (catalog.openai_models, "data", "id"),
    (catalog.anthropic_models, "data", "id"),
    (catalog.gemini_models, "models", "name"),
]


def entries(body: bytes, key: str) -> list[dict[str, Any]]:
    return json.loads(body)[key]


def names(body: bytes, key: str, name: str) -> list[str]:
    return [entry[name].removeprefix("models/") for entry in entries(body, key)]


@pytest.mark.parametrize(("models", "key", "name"), LISTS)
def test_a_list_has_well_known_names_and_those_that_are_added_once(models, key, name):
    known = names(models(), key, name)

    assert len(known) >= 3
    assert names(models(["my-model", known[0], "my-model"]), key, name) == [*known, "my-model"]


def test_entries_of_openai_are_what_its_package_wants():
    listed = entries(catalog.openai_models(["my-model"]), "data")

    assert json.loads(catalog.openai_models())["object"] == "list"
    assert all(Model.model_validate(entry).model_extra == {} for entry in listed)
    assert json.loads(catalog.openai_model("my-model")) == listed[-1]


def test_entries_of_anthropic_are_what_its_package_wants():
    body = json.loads(catalog.anthropic_models(["my-model"]))

    assert all(ModelInfo.model_validate(entry).model_extra == {} for entry in body["data"])
    assert (body["has_more"], body["last_id"]) == (False, "my-model")
    assert body["first_id"] == body["data"][0]["id"]
    assert json.loads(catalog.anthropic_model("my-model")) == body["data"][-1]


def test_entries_of_gemini_are_what_its_package_wants():
    listed = entries(catalog.gemini_models(["models/my-model"]), "models")
    actions = [entry.pop("supportedGenerationMethods") for entry in listed]  # the package renames this one
    models = [types.Model.model_validate(entry) for entry in listed]  # which refuses unknown fields

    assert models[-1].name == "models/my-model"
    assert all("countTokens" in methods for methods in actions)
    assert all(model.input_token_limit and model.display_name for model in models)
    assert json.loads(catalog.gemini_model("my-model")) == listed[-1] | {
        "supportedGenerationMethods": actions[-1]
    }


def test_embedding_models_of_gemini_embed():
    methods = json.loads(catalog.gemini_model("models/gemini-embedding-001"))["supportedGenerationMethods"]

    assert "batchEmbedContents" in methods
    assert "generateContent" not in methods


@pytest.mark.parametrize("model", [catalog.openai_model, catalog.anthropic_model, catalog.gemini_model])
def test_any_name_has_an_entry(model):
    assert b'"whatever:1"' in model("whatever:1") or b'"models/whatever:1"' in model("whatever:1")
