"""The same configurations in promptfoo itself and here: each test ends alike, each assertion with the same score."""

from __future__ import annotations

import asyncio
import json
import random

import pytest
import yaml

from soundstage.journal import Journal
from soundstage.models import Script, ScriptedModel
from soundstage.wire import ModelServer
from support.promptfoo import differences, need_promptfoo

pytestmark = pytest.mark.full  # programs on node
TABLE = "\n".join(
    [
        "city,__expected,__expected2,__description,__threshold",
        "Paris,contains: sunny,javascript: output.length > 100,far too long,0.5",
        "Rome,icontains-any: RAIN,not-contains: snow,,",
        'Oslo,"contains-all: ""snow, -3"", Oslo",levenshtein(9): Oslo: snow,cold,',
    ]
)
LINES = [
    {"vars": {"city": "Paris"}, "assert": [{"type": "starts-with", "value": "Paris"}]},
    {"vars": {"city": "Rome"}, "assert": [{"type": "regex", "value": r"\d+ degrees?$"}]},
]
CHAT = [
    {"role": "system", "content": "Answer in JSON."},
    {"role": "user", "content": 'Weather of "{{city}}" as JSON'},
]
SCHEMA = {"type": "object", "required": ["sky"], "properties": {"degrees": {"type": "number", "maximum": 40}}}
CHECKS_PY = """\
def get_assert(output, context):
    city = context["vars"]["city"]
    return {"pass": city in output, "score": 0.75 if city in output else 0.25, "reason": "named"}


def short(output, context):
    return len(output) / context["config"]["most"]
"""
CHECKS_JS = """\
module.exports = (output, context) => output.includes(context.vars.city);
module.exports.words = (output, context) => ({pass: true, score: output.split(' ').length / 10, reason: 'counted'});
"""
PROVIDER = """\
def call_api(prompt, options, context):
    return {"output": f"{prompt} {options['config'].get('end', '.')} {context['vars']['city']}"}
"""
DIALOGUE = """\
export default class Upper {
  constructor(options) { this.end = options.config?.end ?? '?'; }
  id() { return 'upper'; }
  async callApi(prompt) { return {output: prompt.toUpperCase() + this.end}; }
}
"""
CONFIGURATIONS = {
    "two prompts on two models": {
        "description": "Weather",
        "prompts": [
            "Weather in {{city}}?",
            {"raw": "{{ city | upper }}: weather, please", "label": "polite"},
        ],
        "providers": [
            "openai:gpt-4.1",
            {
                "id": "openai:chat:gpt-4.1-mini",
                "label": "small",
                "config": {"temperature": 0, "max_tokens": 50},
            },
        ],
        "defaultTest": {
            "assert": [{"type": "latency", "threshold": 60000}, {"type": "not-contains", "value": "sorry"}]
        },
        "tests": [
            {"vars": {"city": ["Paris", "Rome"]}, "assert": [{"type": "icontains", "value": "{{city}}"}]},
            {"vars": {"city": "Oslo"}, "assert": [{"type": "contains-any", "value": ["snow", "hail"]}]},
            {"vars": {"city": "Nowhere"}, "assert": [{"type": "contains", "value": "sorry"}]},
        ],
    },
    "a conversation, and tests in tables": {
        "prompts": ["file://chat.json", "Weather in {{city}}?"],
        "providers": [{"id": "openai:gpt-4.1", "prompts": ["chat.json*", "Weather in {{city}}?"]}],
        "tests": ["file://tests.csv", "file://tests.jsonl"],
    },
    "scores, weights and transforms": {
        "prompts": ["Weather of {{city}} as JSON"],
        "providers": [
            "anthropic:messages:claude-opus-5-5",
            {"id": "openai:gpt-4.1", "transform": "output.trim()"},
        ],
        "defaultTest": {"options": {"transform": "JSON.parse(output)"}},
        "tests": [
            {
                "vars": {"city": "Paris"},
                "threshold": 0.6,
                "assert": [
                    {"type": "is-json", "value": SCHEMA, "weight": 2, "metric": "shape"},
                    {"type": "javascript", "value": "output.degrees / 40", "metric": "warm"},
                    {"type": "javascript", "value": "output.sky === 'grey'", "weight": 0},
                ],
            },
            {
                "vars": {"city": "Rome"},
                "assert": [
                    {
                        "type": "assert-set",
                        "threshold": 0.5,
                        "weight": 3,
                        "assert": [
                            {"type": "contains", "value": "sunny"},
                            {
                                "type": "equals",
                                "value": "SKY",
                                "transform": "Object.keys(output)[0].toUpperCase()",
                            },
                            {"type": "contains", "value": "rain"},
                        ],
                    },
                    {"type": "equals", "value": {"sky": "sunny", "degrees": 24}},
                ],
            },
            {"vars": {"city": "Nowhere"}, "assert": [{"type": "contains", "value": "sorry"}]},
        ],
    },
    "scenarios, checks in files, providers in files": {
        "prompts": ["Weather in {{city}}, {{tone}}"],
        "providers": [
            {"id": "file://provider.py", "config": {"end": "!"}, "label": "python"},
            {"id": "file://dialogue.mjs", "config": {"end": "!"}, "label": "javascript"},
            "exec:sh answer.sh says",
        ],
        "scenarios": [
            {
                "config": [{"vars": {"tone": "calm"}}, {"vars": {"tone": "loud"}}],
                "tests": [
                    {
                        "vars": {"city": "Paris"},
                        "assert": [
                            {"type": "python", "value": "file://checks.py"},
                            {
                                "type": "python",
                                "value": "file://checks.py:short",
                                "config": {"most": 50},
                                "threshold": 0.5,
                            },
                            {"type": "javascript", "value": "file://checks.js"},
                            {"type": "javascript", "value": "file://checks.js:words"},
                        ],
                    },
                    {
                        "vars": {"city": "Rome"},
                        "assert": [{"type": "not-python", "value": "'calm' in output"}],
                    },
                ],
            }
        ],
    },
    "templates and likeness": {
        "prompts": [
            "{% if n > 1 %}many{% else %}one{% endif %} {{ words | join(' ') }} {{ d.k }}",
            "{{ text }}",
        ],
        "providers": ["echo"],
        "tests": [
            {
                "vars": {"n": 2, "words": ["the", "cat"], "d": {"k": "sat"}, "text": text},
                "options": {"disableVarExpansion": True},
                "assert": [
                    {"type": "rouge-n", "value": "the cat sat on the mat", "threshold": 0.5},
                    {"type": "not-rouge-n", "value": "many the cat sat"},
                    {"type": "bleu", "value": "the cat sat on the mat", "threshold": 0.2},
                    {"type": "rouge-n", "value": "a dog. the cat sat.", "threshold": 0.1},
                    {"type": "not-bleu", "value": "the cat"},
                    {"type": "gleu", "value": ["a cat", "the cat sat on the mat."], "threshold": 0.2},
                    {"type": "not-gleu", "value": "the cat sat . many"},
                    {"type": "levenshtein", "value": "the cat sat", "threshold": 6},
                    {"type": "word-count", "value": {"min": 3, "max": 5}},
                    {"type": "equals", "value": "many the cat {{ d.k }}"},
                ],
            }
            for text in ["the cat sat on the mat", "The cat, isn't it?", "a dog"]
        ],
    },
}
FILES = {
    "chat.json": json.dumps(CHAT),
    "tests.csv": TABLE,
    "tests.jsonl": "\n".join(map(json.dumps, LINES)),
    "checks.py": CHECKS_PY,
    "checks.js": CHECKS_JS,
    "provider.py": PROVIDER,
    "dialogue.mjs": DIALOGUE,
    "answer.sh": 'echo "$1: $2"\n',
}


def weather():
    """A model that knows three towns."""
    script = Script()
    for city, sky, degrees in (("Paris", "sunny", 24), ("Rome", "sunny", 24), ("Oslo", "snow", -3)):
        script.on(user=f"/{city}.*JSON/i").reply(json.dumps({"sky": sky, "degrees": degrees}))
        script.on(user=f"/{city}/i").reply(f"{city}: {sky}, {degrees} degrees")
    script.on(user="/JSON/").reply("I am sorry, no such place.")
    script.on(user="/./").reply("sorry?")
    return script


async def compared(path, scratch, monkeypatch):
    """The differences on the model server, for both tools."""
    server = ModelServer(ScriptedModel(weather(), shared=True), Journal())
    await server.start()
    try:
        variables = {
            "OPENAI_BASE_URL": server.openai_url,
            "ANTHROPIC_BASE_URL": server.anthropic_url,
            "OPENAI_API_KEY": "not-a-real-key",
            "ANTHROPIC_API_KEY": "not-a-real-key",
        }
        for name, value in {**variables, "SOUNDSTAGE_ALLOW_LIVE": "1"}.items():
            monkeypatch.setenv(name, value)
        return await differences(path, scratch, variables)
    finally:
        await server.stop()


def compare(config, tmp_path, monkeypatch):
    need_promptfoo()
    folder, scratch = tmp_path / "configured", tmp_path / "scratch"
    folder.mkdir()
    scratch.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / "promptfooconfig.yaml").write_text(yaml.safe_dump(config, sort_keys=False, allow_unicode=True))
    return asyncio.run(compared(folder / "promptfooconfig.yaml", scratch, monkeypatch))


LEAST = dict(zip(CONFIGURATIONS, (36, 10, 16, 30, 51), strict=True))  # assertions that are compared at least


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_configuration_ends_alike_in_promptfoo_and_here(name, tmp_path, monkeypatch):
    found, assertions = compare(CONFIGURATIONS[name], tmp_path, monkeypatch)
    assert not found, "\n".join(found)
    assert assertions >= LEAST[name]


WORDS = [
    "sun",
    "Sun",
    "rain",
    "snow",
    "it's",
    "don't",
    "24",
    "a.b",
    "x+y",
    "über",
    "(dry)",
    "$5",
    "cold,",
    "end.",
]
RESULT = "({pass: true, score: 0.3, reason: 'so'})"
CODE = ["output.length > 12", "output.length / 40", "output.includes('sun')", "0", RESULT]
RESULT = "{'pass': True, 'score': 0.3, 'reason': 'so'}"
PYTHON = ["len(output) > 12", "len(output) / 40", "'sun' in output", "0", RESULT]
PATTERNS = [
    "sun",
    "^S",
    "n$",
    "[a-c]",
    r"\d+",
    r"\bit",
    "(rain|snow)",
    "x.y",
    r"a\.b",
    "(?:su)n?",
    r"[^\w\s]",
    r"\S\s\S",
]


TEXTS = "equals contains icontains starts-with contains-all contains-any icontains-all icontains-any regex is-json"
OTHERS = "levenshtein rouge-n bleu word-count javascript python latency"
KINDS = [*TEXTS.split(), *OTHERS.split()]


def text(draw, most=6):
    return " ".join(draw.choices(WORDS, k=draw.randint(1, most)))


def assertion(draw, output):
    """An assertion of any kind, about a text that is near the output or far from it."""
    near = draw.choice([output, output.lower(), output[: len(output) // 2 + 1].strip(), text(draw, 3)])
    kind = draw.choice(KINDS)
    values = {
        "contains-all": [near, draw.choice(WORDS)],
        "contains-any": [draw.choice(WORDS), text(draw, 2)],
        "icontains-all": [near.upper(), draw.choice(WORDS)],
        "icontains-any": [draw.choice(WORDS).upper(), text(draw, 2)],
        "regex": draw.choice(PATTERNS),
        "word-count": draw.choice(
            [draw.randint(1, 6), {"min": draw.randint(1, 4)}, {"max": draw.randint(1, 6)}]
        ),
        "javascript": draw.choice(CODE),
        "python": draw.choice(PYTHON),
    }
    made = {"type": draw.choice(["", "", "not-"]) + kind}
    if kind not in ("is-json", "latency"):
        made["value"] = values.get(kind, near)
    limits = {
        "levenshtein": draw.randint(0, 12),
        "rouge-n": draw.random(),
        "bleu": draw.random(),
        "latency": 60000,
    }
    if kind in limits:
        made["threshold"] = limits[kind]
    if kind in ("javascript", "python") and draw.random() < 0.3:
        made["threshold"] = 0.25
    if draw.random() < 0.2:
        made["weight"] = draw.choice([0, 0.5, 2])
    return made


def drawn_test(draw):
    output = text(draw)
    parts = [assertion(draw, output) for _ in range(draw.randint(1, 5))]
    if draw.random() < 0.3:
        limit = {"threshold": round(draw.random(), 2)} if draw.random() < 0.5 else {}
        parts.append({"type": "assert-set", "assert": [assertion(draw, output) for _ in range(2)], **limit})
    found = {"vars": {"text": output}, "assert": parts}
    return {**found, "threshold": round(draw.random(), 2)} if draw.random() < 0.4 else found


def test_gleu_of_drawn_texts_is_that_of_promptfoo(tmp_path, monkeypatch):
    draw = random.Random(5)
    tests = [
        {
            "vars": {"text": text(draw)},
            "assert": [
                {
                    "type": draw.choice(["gleu", "not-gleu"]),
                    "value": draw.choice([text(draw), [text(draw), text(draw)]]),
                    "threshold": round(draw.random(), 2),
                }
            ],
        }
        for _ in range(80)
    ]
    found, assertions = compare(
        {"prompts": ["{{text}}"], "providers": ["echo"], "tests": tests}, tmp_path, monkeypatch
    )
    assert not found, "\n".join(found)
    assert assertions == 80


@pytest.mark.parametrize("seed", [1, 2])
def test_drawn_tests_end_alike_in_promptfoo_and_here(seed, tmp_path, monkeypatch):
    draw = random.Random(seed)
    tests = [drawn_test(draw) for _ in range(60)]
    config = {"prompts": ["{{text}}"], "providers": ["echo"], "tests": tests}
    found, assertions = compare(config, tmp_path, monkeypatch)
    assert not found, "\n".join(found)
    assert assertions > 150
