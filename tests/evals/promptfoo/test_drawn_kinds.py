"""XML and tool calls, drawn by lot: promptfoo itself and our evaluators judge them alike."""

from __future__ import annotations

import asyncio
import json
import random

import pytest
import yaml

from support.promptfoo import differences, in_library, need_promptfoo

pytestmark = pytest.mark.full  # programs on node
PROVIDER = """\
import json

def call_api(prompt, options, context):
    return {"output": json.loads(prompt)}
"""


@pytest.fixture
def compare(tmp_path):
    """The differences over tests on the answers that they have as `text`, and how many assertions were compared."""
    need_promptfoo()
    folder, scratch = tmp_path / "configured", tmp_path / "scratch"
    folder.mkdir()
    scratch.mkdir()

    def run(tests, provider="echo"):
        config = {"prompts": ["{{text}}"], "providers": [provider], "tests": tests}
        (folder / "provider.py").write_text(PROVIDER)
        (folder / "promptfooconfig.yaml").write_text(yaml.safe_dump(config, allow_unicode=True))
        return asyncio.run(differences(folder / "promptfooconfig.yaml", scratch, {}))

    return run


HEADS = [
    "<?xml version='1.0'?>",
    '<?xml version="1.0" encoding="latin-1"?>\n',
    '<?xml version="2.0"?>',
    "<!DOCTYPE a>",
    '<!DOCTYPE a SYSTEM "u">',
    '<!DOCTYPE a SYSTEM "x#y">',
    '<!DOCTYPE a PUBLIC "p" "s">',
    '<!DOCTYPE a [<!ENTITY e "x">]>',
    "<?xml version='1.0' standalone='yes'?><!DOCTYPE a SYSTEM 'u'>",
    "\ufeff",
    " ",
    "<!-- c -->",
    "<?pi x='1'?>",
]
ATTRIBUTES = [
    ' k="1"',
    " k='1' m='a>b'",
    ' xmlns:x="u"',
    ' xmlns="v"',
    ' x:k="1"',
    " k",
    " k=1",
    ' k="1" k="2"',
    ' k="&amp;"',
]
TEXTS = [
    "",
    "t",
    " ",
    "1",
    "a & b",
    "&amp;",
    "&nbsp;",
    "]]>",
    "<![CDATA[c]]>",
    "<!-- n -->",
    "<!-- a -- b -->",
]
TEXTS += ['<?pi k="1"?>', "<?pi?>", "<br>", "</b>", "it's", "<b k='a<b'/>"]
STEPS = ["a", "b", "c", "@_k", "#text", "?pi", "0", "1", "x:a", "@_xmlns:x", "?xml", "@_version", "@_m", "01"]


def element(draw, depth=0):
    name = draw.choice(["a", "b", "c", "x:a"])
    given = draw.choice(ATTRIBUTES) if draw.random() < 0.3 else ""
    given = ' xmlns:x="u"' if name == "x:a" and draw.random() < 0.8 else given
    if draw.random() < 0.25:
        return f"<{name}{given}{draw.choice(['', ' '])}/>"
    inner = "".join(
        element(draw, depth + 1)
        if depth < 4 and draw.random() < 0.5
        else draw.choice(TEXTS[: 4 if draw.random() < 0.7 else None])
        for _ in range(draw.randint(0, 3))
    )
    return f"<{name}{given}>{inner}</{name if draw.random() < 0.97 else 'b'}>"


def xml_test(draw):
    kind = draw.choice(["is-xml", "contains-xml"])
    if kind == "is-xml":
        head = draw.choice(HEADS) if draw.random() < 0.4 else ""
        text = head + element(draw) + draw.choice(["", "", "\n", "<!-- e -->", "<b/>", "x"])
    else:
        begin = ["prose ", "see: ", "```xml\n", ""]
        text = "".join(draw.choice(begin) + element(draw) for _ in range(draw.randint(1, 3)))
    paths = [".".join(draw.choices(STEPS[: draw.choice([3, None])], k=draw.randint(1, 3))) for _ in range(2)]
    value = draw.choice([None, None, paths[:1], ", ".join(paths), {"requiredElements": paths[:1]}, paths[0]])
    made = {"type": draw.choice(["", "", "not-"]) + kind}
    return {"vars": {"text": text}, "assert": [made if value is None else {**made, "value": value}]}


@pytest.mark.parametrize("seed", [1, 2])
def test_xml_is_judged_as_promptfoo_does(compare, seed):
    draw = random.Random(seed)
    found, assertions = compare([xml_test(draw) for _ in range(400)])
    assert not found, "\n".join(found)
    assert assertions == 400


NAMES = ["search", "weather", "time"]
OTHERS = [
    None,
    3,
    "search",
    {"name": "search"},
    [3, None],
    {"tool_calls": "search"},
    {"type": "tool_use", "name": 3},
    {"functionCall": "time"},
    {"toolCall": {"functionCalls": {}}},
    [],
]


def call_in(draw, name):
    """A call as one of the providers has it in a list."""
    return draw.choice(
        [
            {"function": {"name": name, "arguments": "{}"}},
            {"type": "tool_use", "name": name, "input": {}},
            {"functionCall": {"name": name}},
            {"name": name},
            {"type": "text", "text": name},
        ]
    )


def calls_of(draw):
    names = draw.choices(NAMES, k=draw.randint(0, 3))
    several, one = [call_in(draw, name) for name in names], draw.choice(NAMES)
    return draw.choice(
        [
            several,
            several,
            {"tool_calls": several},
            {"toolCall": {"functionCalls": [{"name": name} for name in names]}},
            {"type": "function_call", "name": one},
            {"type": "tool_use", "name": one},
            {"functionCall": {"name": one}},
            draw.choice(OTHERS),
        ]
    )


def written(draw, value):
    """Data within a text, as models write it."""
    text = json.dumps(value, indent=draw.choice([None, 2]))
    forms = [
        "{}",
        "I will.\n{}\nDone.",
        "I call {} now.",
        "```json\n{}\n```\n",
        "~~~\n{}\n~~~",
        "  {}  ",
        "{}\n{}",
        "{} {}",
        "[see\n{}",
    ]
    return draw.choice(forms).replace("{}", text)


def f1_test(draw):
    wanted = draw.sample(NAMES, k=draw.randint(1, 3))
    made = {
        "type": draw.choice(["", "not-"]) + "tool-call-f1",
        "value": draw.choice([wanted, ", ".join(wanted)]),
    }
    if draw.random() < 0.6:
        made["threshold"] = round(draw.random(), 2)
    return {"vars": {"text": written(draw, calls_of(draw))}, "assert": [made]}


def test_f1_of_tool_calls_is_that_of_promptfoo(compare):
    draw = random.Random(3)
    found, assertions = compare([f1_test(draw) for _ in range(300)])
    assert not found, "\n".join(found)
    assert assertions == 300


SHAPE = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
    "required": ["city"],
    "additionalProperties": False,
}
FUNCTIONS = [{"name": "weather", "parameters": SHAPE}, {"name": "any", "parameters": {}}, {"name": "time"}]
ARGUMENTS = [
    '{"city": "Rome"}',
    '{"city": "Rome", "days": 2}',
    '{"city": "Rome", "days": 0}',
    "{}",
    "{",
    '{"town": "x"}',
]


def openai_call(draw):
    name = draw.choice(["weather", "weather", "any", "time", "other", 3])
    return {"name": name, "arguments": draw.choice([*ARGUMENTS, {"city": "Rome"}])}


def test_tool_calls_are_valid_where_they_are_for_promptfoo(compare):
    draw = random.Random(4)
    tools = [{"type": "function", "function": one} for one in FUNCTIONS] + [{"type": "web_search"}]

    def answer():
        calls = [{"type": "function", "function": openai_call(draw)} for _ in range(draw.randint(0, 2))]
        return draw.choice([calls, calls, calls, {"tool_calls": calls}, "no call", {"text": "no"}, [3, None]])

    tests = [
        {"vars": {"text": json.dumps(answer())}, "assert": [{"type": "is-valid-openai-tools-call"}]}
        for _ in range(60)
    ]
    found, assertions = compare(tests, {"id": "file://provider.py", "config": {"tools": tools}})
    assert not found, "\n".join(found)
    assert assertions == 60


LIBRARY = """\
import fs from 'node:fs';
const {default: promptfoo} = await import(process.argv[1]);
const {functions, outputs} = JSON.parse(fs.readFileSync(0, 'utf8'));
const provider = await promptfoo.loadApiProvider('openai:gpt-4.1', {options: {config: {functions, apiKey: 'none'}}});
const told = [];
for (const output of outputs) {
  const assertion = {type: 'is-valid-openai-function-call'};
  const given = {assertion, test: {vars: {}}, provider, providerResponse: {output}};
  told.push((await promptfoo.assertions.runAssertion(given)).pass);
}
fs.writeSync(1, '\\n' + JSON.stringify(told));
process.exit(0);
"""


def test_a_call_of_a_function_is_valid_where_it_is_for_promptfoo(tmp_path, graded):
    need_promptfoo()
    draw = random.Random(5)
    outputs = [
        draw.choice([call, call, {"function_call": call}, [call], {"text": "no"}])
        for call in (openai_call(draw) for _ in range(200))
    ]
    asked = json.dumps({"functions": FUNCTIONS, "outputs": outputs})
    done = asyncio.run(in_library(LIBRARY, asked, tmp_path))
    told = json.loads(done.stdout.splitlines()[-1])
    ours = [graded("valid_function_call", FUNCTIONS, json.dumps(output)).passed for output in outputs]
    assert list(zip(ours, outputs, strict=True)) == list(zip(told, outputs, strict=True))
    assert 20 < sum(told) < 180
