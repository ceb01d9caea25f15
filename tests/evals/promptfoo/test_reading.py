"""Configurations of promptfoo: the cases that they become, and the refused ones, with file, line and key."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.evals import EvalConfigError, ImportedSuite, import_promptfoo, load_suite, run_suite
from soundstage.models import Script, ScriptedModel
from soundstage.runs import RunStore


def cases_of(path):
    """The cases, each with what it has of the suite."""
    suite = import_promptfoo(path).node.value
    shared = {key: suite[key] for key in ("agent", "live") if key in suite}
    return [{**shared, **case} for case in suite["cases"]]


def expected(path):
    return [one for case in cases_of(path) for one in case["expect"]]


def test_a_case_is_made_for_each_prompt_provider_and_test(configured):
    path = configured(
        {
            "prompts": ["Say {{o}}", {"raw": "Tell {{o}}", "label": "told"}],
            "providers": ["echo", {"id": "echo", "label": "second", "prompts": ["told"]}],
            "tests": [{"vars": {"o": "a"}}, {"description": "last", "vars": {"o": "b"}}],
        }
    )
    assert [(case["name"], case["input"]) for case in cases_of(path)] == [
        ("prompt 1, echo: test 1", "Say a"),
        ("prompt 2, echo: test 1", "Tell a"),
        ("prompt 2, second: test 1", "Tell a"),
        ("prompt 1, echo: test 2, last", "Say b"),
        ("prompt 2, echo: test 2, last", "Tell b"),
        ("prompt 2, second: test 2, last", "Tell b"),
    ]


def test_lists_of_values_are_taken_apart_unless_that_is_turned_off(configured):
    test = {"vars": {"a": ["1", "2"], "b": ["x", "y"]}}
    path = configured({"prompts": ["{{a}}{{b}}"], "tests": [test]})
    assert [case["input"] for case in cases_of(path)] == ["1x", "1y", "2x", "2y"]
    path = configured({"prompts": ["{{a}}"], "tests": [{**test, "options": {"disableVarExpansion": True}}]})
    assert [case["input"] for case in cases_of(path)] == ['["1","2"]']


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ o | upper }}", "ANN"),
        ("{% if n > 1 %}many{% else %}one{% endif %}", "many"),
        ("{% if o === 'Ann' %}yes{% endif %}", "yes"),
        ("{% for x in l %}{{ x }};{% endfor %}{{ l.length }}", "1;2;2"),
        ("{{ n }} {{ t }} {{ missing }}{{ missing.deeper }}|", "2 true |"),
        ("{{ d.k }} {{ d | dump }}", 'v {"k":"v"}'),
        ("{{ (j | load).k }}", "w"),
        ("{{ nested }}", "Hi Ann"),
        ("no template }}", "no template }}"),
    ],
)
def test_templates_are_those_of_nunjucks(configured, template, text):
    variables = {
        "o": "Ann\n",
        "n": 2.0,
        "t": True,
        "l": [1, 2],
        "d": {"k": "v"},
        "j": '{"k": "w"}',
        "nested": "Hi {{o}}",
    }
    options = {"disableVarExpansion": True}
    path = configured({"prompts": [template], "tests": [{"vars": variables, "options": options}]})
    assert [case["input"] for case in cases_of(path)] == [text]


def test_prompts_come_from_files_with_one_or_several(configured):
    path = configured(
        {
            "prompts": ["file://two.txt", "file://*.md", {"id": "file://chat.json", "label": "c"}],
            "tests": [{}],
        },
        two__txt="one\n---\ntwo\n",
        a__md="# a\n",
        b__md="# b",
        chat__json='[{"role": "user", "content": "{{q}} \\"quoted\\""}]',
    )
    inputs = [case["input"] for case in cases_of(path)]
    assert inputs[:4] == ["one", "two", "# a\n", "# b"]
    assert "quoted" in inputs[4]


def test_a_conversation_is_given_to_a_model_as_messages(configured, monkeypatch):
    monkeypatch.setenv("SOUNDSTAGE_ALLOW_LIVE", "1")
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-real-key")
    path = configured(
        {
            "prompts": ["file://chat.yaml"],
            "providers": ["openai:gpt-4.1"],
            "tests": [{"vars": {"q": 'say "x"'}}],
        },
        chat__yaml="- role: system\n  content: Be short.\n- role: user\n  content: '{{q}}'\n",
    )
    (case,) = load_suite(path).cases
    request = case.agent._request(case.input)
    assert [(message.role, message.text) for message in request.messages] == [
        ("system", "Be short."),
        ("user", 'say "x"'),
    ]


def test_a_test_inherits_from_the_default_and_from_its_scenario(configured):
    path = configured(
        {
            "defaultTest": {
                "vars": {"o": "d"},
                "assert": [{"type": "contains", "value": "1"}],
                "threshold": 0.5,
            },
            "scenarios": [
                {
                    "config": [
                        {"vars": {"o": "s"}},
                        {"vars": {"o": "t"}, "assert": [{"type": "contains", "value": "2"}]},
                    ],
                    "tests": [{"assert": [{"type": "contains", "value": "3"}]}],
                }
            ],
            "tests": [{"assert": [{"type": "contains", "value": "0"}], "threshold": 0.75}],
        }
    )
    found = [(case["input"], case["expect"][0]["score"]) for case in cases_of(path)]
    of = lambda *texts: [{"contains": text} for text in texts]  # noqa: E731
    assert found == [
        ("d", {"of": of("1", "0"), "at_least": 0.75}),
        ("s", {"of": of("1", "3"), "at_least": 0.5}),
        ("t", {"of": of("1", "2", "3"), "at_least": 0.5}),
    ]


def test_tests_come_from_tables_lines_and_files(configured):
    path = configured(
        {"tests": ["file://t.csv", "file://t.jsonl", "file://m*.yaml", "file://t.json"]},
        t__csv=(
            "o,__expected,__expected2,__description,__metric,__threshold,__metadata:kind,__prefix\n"
            'a,contains: a,"contains-any: x, ""y,z""",named,tone,0.5,easy,"> "\n'
            "b,Paris,,,,,,\n"
        ),
        t__jsonl='{"vars": {"o": "c"}, "assert": [{"type": "icontains", "value": "C."}]}\n\n',
        more__yaml="- vars: {o: d}\n",
        t__json='[{"vars": {"o": "e"}}]',
    )
    first, second, third, fourth, fifth = cases_of(path)
    assert (first["name"], first["input"], first["metadata"]["kind"]) == ("test 1, named", "> a", "easy")
    assert first["expect"] == [
        {
            "score": {
                "of": [
                    {"contains": "a", "name": "tone"},
                    {"output_matches": {"any": [{"text": "x"}, {"text": "y,z"}]}, "name": "tone"},
                ],
                "at_least": 0.5,
            }
        }
    ]
    assert (second["name"], second["expect"]) == ("test 2, Row #2", [{"output_matches": {"equals": "Paris"}}])
    assert third["expect"] == [{"output_matches": r"/C\./i"}]
    assert [fourth["input"], fifth["input"]] == ["d", "e"]
    assert fourth["expect"] == [{"no_failures": True}]


@pytest.mark.parametrize(
    ("assertion", "spec"),
    [
        ({"type": "equals", "value": 3}, {"output_matches": {"equals": "3"}}),
        ({"type": "equals", "value": {"a": [1]}}, {"is_json": {"const": {"a": [1]}}}),
        ({"type": "contains", "value": "{{o}}!"}, {"contains": "word!"}),
        ({"type": "contains-all", "value": ["{{o}}", 2.0]}, {"contains": ["word", "2"]}),
        ({"type": "starts-with", "value": "a.b"}, {"output_matches": r"/\Aa\.b/"}),
        ({"type": "regex", "value": r"^\d+$"}, {"output_matches": r"/\A[0-9]+\Z/"}),
        ({"type": "not-regex", "value": "x"}, {"not": {"output_matches": "/x/"}}),
        ({"type": "is-json"}, {"is_json": True}),
        ({"type": "is-json", "value": "type: object"}, {"is_json": {"type": "object"}}),
        ({"type": "contains-json", "value": "file://s.json"}, {"contains_json": {"type": "array"}}),
        ({"type": "latency", "threshold": 1500}, {"latency": 1.5}),
        ({"type": "cost", "threshold": 0.01}, {"cost": 0.01}),
        ({"type": "levenshtein", "value": "x"}, {"levenshtein": {"to": "x", "at_most": 5}}),
        ({"type": "rouge-n", "value": "x"}, {"rouge_n": {"to": "x", "at_least": 0.75}}),
        ({"type": "word-count", "value": {"min": 1}}, {"word_count": {"at_least": 1}}),
        ({"type": "finish-reason", "value": "stop"}, {"finish_reason": "stop"}),
        ({"type": "python", "value": "output == '{{o}}'"}, {"python_code": "output == 'word'"}),
        (
            {"type": "python", "value": "file://c.py:named", "threshold": 0.5, "config": {"k": 1}},
            {"python_code": {"file": "c.py", "function": "named", "threshold": 0.5, "config": {"k": 1}}},
        ),
        ({"type": "javascript", "value": "output"}, {"javascript": "output"}),
        (
            {"type": "contains", "value": "A", "transform": "output.toUpperCase()"},
            {
                "transform": {
                    "by": {"javascript": {"code": "output.toUpperCase()"}},
                    "expect": {"contains": "A"},
                }
            },
        ),
        (
            {"type": "assert-set", "threshold": 0.5, "assert": [{"type": "contains", "value": "a"}]},
            {"score": {"of": [{"contains": "a"}], "at_least": 0.5}},
        ),
    ],
)
def test_an_assertion_is_an_evaluator_of_ours(configured, assertion, spec, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    path = configured(
        {"tests": [{"vars": {"o": "word"}, "assert": [assertion]}]},
        s__json='{"type": "array"}',
        c__py="def named(output, context):\n    return True\n",
    )
    assert expected(path) == [spec]


def test_transforms_of_provider_and_test_go_one_after_the_other(configured):
    path = configured(
        {
            "providers": [{"id": "echo", "transform": "output + 1"}],
            "tests": [
                {"vars": {"o": "a"}, "options": {"transform": "output + 2"}, "assert": [{"type": "is-json"}]}
            ],
        }
    )
    first, second = ({"javascript": {"code": f"output + {n}"}} for n in (1, 2))
    inner = {"transform": {"by": second, "expect": {"is_json": True}}}
    assert expected(path) == [{"transform": {"by": first, "expect": inner}}]


LIVE = [
    ("openai:gpt-4.1", {"format": "openai", "model": "gpt-4.1"}),
    ("openai:chat:org/model", {"format": "openai", "model": "org/model"}),
    ("openai:responses:gpt-4.1", {"format": "openai-responses", "model": "gpt-4.1"}),
    ("anthropic:messages:claude-opus-5-5", {"format": "anthropic", "model": "claude-opus-5-5"}),
    ("google:gemini-2.5-pro", {"format": "gemini", "model": "gemini-2.5-pro"}),
]


@pytest.mark.parametrize(("name", "live"), LIVE)
def test_providers_are_live_models_by_their_formats(configured, name, live, monkeypatch):
    for variable in ("OPENAI_BASE_URL", "OPENAI_API_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_API_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    (case,) = cases_of(configured({"providers": [name], "tests": [{"vars": {"o": "a"}}]}))
    assert case["live"] == live
    assert case["agent"]["model"] == f"{live['format']}/{live['model']}"


def test_a_model_that_is_given_answers_for_all_providers(configured):
    providers = ["openai:gpt-4.1", "anthropic:claude-opus-5-5"]
    path = configured({"providers": providers, "tests": [{"vars": {"o": "a"}}]})
    suite = load_suite(path, model=lambda: ScriptedModel(Script()))
    assert [(case.agent or suite.agent).model for case in suite.cases] == ["gpt-4.1", "claude-opus-5-5"]
    assert [case.model for case in suite.cases] == [None, None]


def test_a_provider_has_settings_an_address_and_the_variable_of_its_key(configured):
    config = {"temperature": 0.5, "apiBaseUrl": "http://127.0.0.1:1/v1", "apiKey": "{{env.MY_KEY}}"}
    providers = [{"id": "openai:gpt-4.1", "config": config}, {"openai:gpt-4.1-mini": {"label": "small"}}]
    first, second = cases_of(configured({"providers": providers, "tests": [{"vars": {"o": "a"}}]}))
    assert first["agent"] == {"model": "openai/gpt-4.1", "settings": {"temperature": 0.5}}
    assert (first["live"]["base_url"], first["live"]["key"]) == ("http://127.0.0.1:1/v1", "MY_KEY")
    assert second["name"] == "small: test 1"


def test_programs_are_providers_and_get_prompt_options_and_variables(configured, tmp_path):
    path = configured(
        {
            "providers": [
                {"id": "file://p.py", "config": {"k": 1}},
                "python:p.py:second",
                "file://p.mjs",
                "exec:sh p.sh word",
                "file://p.py:fails",
            ],
            "tests": [{"vars": {"o": "hi"}}],
        },
        p__py=(
            "import json\n"
            "def call_api(prompt, options, context):\n"
            "    return {'output': f\"{prompt} {options['config']['k']} {context['vars']['o']}\"}\n"
            "async def second(prompt, options, context):\n"
            "    return {'output': {'answer': prompt}}\n"
            "def fails(prompt, options, context):\n"
            "    return {'error': 'went wrong'}\n"
        ),
        p__mjs=(
            "export default class Mine {\n"
            "  async callApi(prompt, context) { return {output: `${prompt} from ${context.vars.o}`}; }\n}\n"
        ),
        p__sh='echo "$1 $2 ${3:0:1}"\n',
    )
    (tmp_path / "p.sh").write_text('echo "$1 $2"\n')
    store = RunStore(tmp_path / "store")
    try:
        report = asyncio.run(run_suite(load_suite(path), store=store))
        runs = [case.runs[0] for case in report.cases]
        outputs = [store.open(run.run).result().output if run.run else run.reason for run in runs]
    finally:
        store.close()
    assert [run.outcome for run in runs] == ["passed"] * 4 + ["failed"], [run.reason for run in runs]
    assert outputs[:4] == ["hi 1 hi", '{"answer":"hi"}', "hi from hi", "word hi"]
    assert "went wrong" in runs[4].reason


def test_the_suite_that_is_written_is_the_one_that_is_run(configured, tmp_path):
    import yaml

    path = configured(
        {
            "description": "Words",
            "tests": [
                {"vars": {"o": ["a", "b"]}, "assert": [{"type": "contains", "value": "a"}], "threshold": 0.5}
            ],
            "evaluateOptions": {"repeat": 2, "timeoutMs": 5000, "maxConcurrency": 3},
        }
    )
    found = import_promptfoo(path)
    assert isinstance(found, ImportedSuite)
    (tmp_path / "suite.yaml").write_text(yaml.safe_dump(found.node.value))
    one, other = load_suite(tmp_path / "suite.yaml"), load_suite(path)
    assert (
        (one.name, one.repeat, one.timeout) == (other.name, other.repeat, other.timeout) == ("Words", 2, 5.0)
    )
    assert [(case.name, case.input, case.metadata) for case in one.cases] == [
        (case.name, case.input, case.metadata) for case in other.cases
    ]
    assert ["maxConcurrency" in note for note in found.notes] == [True]
    assert other.notes == found.notes


def test_a_reference_inside_of_the_file_is_followed(configured):
    path = configured(
        {
            "assertionTemplates": {"sunny": {"type": "contains", "value": "sun"}},
            "tests": [{"vars": {"o": "a"}, "assert": [{"$ref": "#/assertionTemplates/sunny"}]}],
        }
    )
    assert expected(path) == [{"contains": "sun"}]


BASE = "prompts: ['{{o}}']\nproviders: [echo]\n"
TESTS = "tests:\n  - vars: {o: a}\n    assert:\n      - "
WRONG = [
    ("prompts: [", 2, "not YAML"),
    ("prompts: ['x']\n", 1, "providers: expected `providers`"),
    (BASE + TESTS + "{type: contians, value: x}\n", 6, "did you mean 'contains'"),
    (BASE + TESTS + "{type: llm-rubric, value: x}\n", 6, "llm-rubric is not served"),
    (BASE + TESTS + "{type: not-similar, value: x}\n", 6, "similar is not served"),
    (BASE + TESTS + "{type: is-xml, value: {paths: [a]}}\n", 6, "expected `requiredElements`"),
    (BASE + TESTS + "{type: tool-call-f1, value: ' , '}\n", 6, "expected names of tools"),
    (BASE + TESTS + "{type: not-is-valid-function-call}\n", 6, "promptfoo judges it as is-valid"),
    (BASE + TESTS + "{type: contains}\n", 6, "tests[0].assert[0].contains: expected a text as `value`"),
    (BASE + TESTS + "{type: contains, value: x, treshold: 1}\n", 6, "did you mean 'threshold'"),
    (BASE + TESTS + "{type: contains, value: x, weight: -1}\n", 6, "weight: expected a number from 0"),
    (BASE + TESTS + "{type: regex, value: '(open'}\n", 6, "is not a regular expression"),
    (BASE + TESTS + "{type: regex, value: '(?i)x'}\n", 6, "is no JavaScript"),
    (BASE + TESTS + "{type: is-json, value: {type: objekt}}\n", 6, "no JSON Schema"),
    (BASE + TESTS + "{type: is-json, value: 'file://no.json'}\n", 6, "there is no no.json"),
    (BASE + TESTS + "{type: latency}\n", 6, "expected a `threshold`"),
    (BASE + TESTS + "{type: python, value: 'file://no.py'}\n", 6, "there is no no.py"),
    (BASE + TESTS + "{type: assert-set}\n", 6, "expected `assert`"),
    (BASE + TESTS + "{value: x}\n", 6, "expected an assertion with a `type`"),
    (BASE + TESTS + "{$ref: '#/nowhere'}\n", 6, "there is no #/nowhere"),
    (BASE + "tests: [{vars: {o: '{{ a b }}'}}]\n", 3, "this template cannot be used"),
    (BASE + "tests: [{vars: {o: '{{ a | nofilter }}'}}]\n", 3, "nofilter"),
    (BASE + "tests: [{vras: {o: a}}]\n", 3, "did you mean 'vars'"),
    (BASE + "tests: [{vars: {o: a}, provider: openai:x}]\n", 3, "a provider of one test is not served"),
    (BASE + "tests: [{vars: {o: a}, options: {storeOutputAs: x}}]\n", 3, "outputs of others"),
    (BASE + "tests: file://no.csv\n", 3, "tests: there is no no.csv"),
    (BASE + "tests: file://promptfooconfig.py\n", 3, "there is no promptfooconfig.py"),
    (BASE + "tests: [{vars: {o: ''}}]\n", 3, "has no input"),
    (BASE + "extensions: [file://x.py]\n", 3, "hooks are not served"),
    (BASE + "redteam: {}\n", 3, "red teaming is not served"),
    (BASE + "defaultTst: {}\n", 3, "did you mean 'defaultTest'"),
    (BASE + "evaluateOptions: {delay: 5}\n", 3, "lower the concurrency"),
    (BASE + "evaluateOptions: {timeoutMs: soon}\n", 3, "timeoutMs: expected a whole number, got 'soon'"),
    (BASE + "evaluateOptions: {repeat: true}\n", 3, "repeat: expected a whole number, got True"),
    (
        BASE + TESTS + "{type: assert-set, threshold: high, assert: [{type: contains, value: x}]}\n",
        6,
        "assert[0].threshold: expected a number, got 'high'",
    ),
    (
        "prompts: [x]\nproviders:\n  - id: openai:gpt-4.1\n    config: {passthrough: [1]}\n",
        3,
        "`passthrough` of a provider is a mapping",
    ),
    ("prompts: [file://no.txt]\nproviders: [echo]\n", 1, "prompts[0]: there is no no.txt"),
    ("prompts: [file://p.py]\nproviders: [echo]\n", 1, "there is no p.py"),
    ("prompts: ['langfuse://x:1']\nproviders: [echo]\n", 1, "prompts from langfuse"),
    ("prompts: [x]\nproviders:\n  - bedrock:claude\n", 3, "the provider 'bedrock:claude' is not served"),
    ("prompts: [x]\nproviders:\n  - opnai:gpt-4.1\n", 3, "did you mean 'openai'"),
    ("prompts: [x]\nproviders:\n  - openai:embedding:m\n", 3, "is not served"),
    ("prompts: [x]\nproviders:\n  - file://no.py\n", 3, "there is no no.py"),
    ("prompts: [x]\nproviders:\n  - https://example.com/api\n", 3, "has nothing to send"),
    (
        "prompts: [x]\nproviders:\n  - id: openai:gpt-4.1\n    config: {temprature: 1}\n",
        3,
        "did you mean 'temperature'",
    ),
    (
        "prompts: [x]\nproviders:\n  - id: openai:gpt-4.1\n    config: {apiKey: a-key}\n",
        3,
        "a key does not belong into a file",
    ),
]


@pytest.mark.parametrize(("text", "line", "words"), WRONG)
def test_what_is_not_served_is_told_with_file_line_and_key(configured, text, line, words):
    with pytest.raises(EvalConfigError) as caught:
        load_suite(configured(text))
    found = [str(problem) for problem in caught.value.problems]
    told = next((problem for problem in caught.value.problems if words in str(problem)), None)
    assert told is not None, found
    assert (told.line, told.file.rpartition("/")[2]) == (line, "promptfooconfig.yaml"), told


def test_all_that_is_not_served_is_told_at_once_each_in_its_file(configured):
    path = configured(
        "prompts: [x]\nproviders: [echo, bedrock:m]\n"
        "tests: [file://t.yaml, file://t.csv, file://t.jsonl]\nredteam: {}\n",
        t__yaml="- vars: {}\n  assert: [{type: moderation}]\n",
        t__csv="o,__odd\na,b\n",
        t__jsonl='{"vars": {}}\n{"assrt": []}\n',
    )
    with pytest.raises(EvalConfigError) as caught:
        load_suite(path)
    places = {(problem.file.rpartition("/")[2], problem.line) for problem in caught.value.problems}
    assert places == {
        ("promptfooconfig.yaml", 2),
        ("promptfooconfig.yaml", 4),
        ("t.yaml", 2),
        ("t.csv", 2),
        ("t.jsonl", 2),
    }


def test_every_column_of_expectations_counts_in_their_order(configured):
    path = configured(
        {"tests": "file://t.csv"},
        t__csv="o, __expected ,__expected1,__expected2,__config:__expected1:threshold\n"
        "a,contains: a,,levenshtein(3): abc,\n"
        "b,levenshtein: b,contains: c,not-contains: d,2\n"
        "c,contains(1.2.3): c,,,\n",
    )
    assert [case["expect"] for case in cases_of(path)] == [
        [{"contains": "a"}, {"levenshtein": {"to": "abc", "at_most": 3}}],
        [{"levenshtein": {"to": "b", "at_most": 2}}, {"contains": "c"}, {"not": {"contains": "d"}}],
        [{"output_matches": {"equals": "contains(1.2.3): c"}}],
    ]


ONE_LINE = {
    "is-json": {"is_json": True},
    "not-is-xml": {"not": {"is_xml": True}},
    "gleu: b": {"gleu": {"to": "b", "at_least": 0.5}},
    "gleu(0.9): b": {"gleu": {"to": "b", "at_least": 0.5}},
    "rouge-n(0.9): b": {"rouge_n": {"to": "b", "at_least": 0.9}},
    "tool-call-f1(0.5): b": {"tool_call_f1": {"tools": ["b"], "at_least": 1.0}},
    "file://check.js": {"javascript": {"file": "check.js"}},
    "file://check.py:f": {"python_code": {"file": "check.py", "function": "f"}},
    "assert-set": {"output_matches": {"equals": "assert-set"}},
}


@pytest.mark.parametrize("text", ONE_LINE)
def test_an_assertion_in_one_line_is_read_as_promptfoo_does(configured, text):
    path = configured(
        {"tests": "file://t.csv"},
        t__csv=f"o,__expected\na,{text}\n",
        check__js="module.exports = () => true;\n",
        check__py="def f(output, context):\n    return True\n",
    )
    assert [case["expect"] for case in cases_of(path)] == [[ONE_LINE[text]]]


def test_a_kind_alone_in_one_line_that_needs_a_value_is_refused_as_such(configured):
    path = configured({"tests": "file://t.csv"}, t__csv="o,__expected\na,contains\n")
    with pytest.raises(EvalConfigError, match=r"contains: expected a text as `value`"):
        load_suite(path)


def test_all_that_is_wrong_with_one_provider_is_told(configured):
    config = {"temprature": 1, "top_pp": 1, "apiKey": "a-key"}
    provider = {"id": "openai:gpt-4.1", "config": config, "transform": 3, "delay": 5}
    with pytest.raises(EvalConfigError) as caught:
        load_suite(configured({"providers": [provider], "tests": [{"vars": {"o": "a"}}]}))
    told = "\n".join(map(str, caught.value.problems))
    for words in (
        "'temprature'",
        "'top_pp'",
        "a key does not belong",
        "a transform is",
        "runs are not delayed",
    ):
        assert words in told, told


def test_a_likeness_in_one_line_without_a_number_has_that_of_promptfoo(configured):
    path = configured({"tests": "file://t.csv"}, t__csv="o,__expected\na,levenshtein: b\n")
    assert [case["expect"] for case in cases_of(path)] == [[{"levenshtein": {"to": "b", "at_most": 0}}]]


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("__threshold", "nan"),
        ("__threshold", "high"),
        ("__config:__expected:threshold", "high"),
        ("__config:__expected1:weight", "2"),
    ],
)
def test_a_column_that_takes_a_number_refuses_all_else_with_its_line(configured, column, text):
    path = configured({"tests": "file://t.csv"}, t__csv=f"o,__expected,{column}\na,contains: a,{text}\n")
    with pytest.raises(EvalConfigError, match=rf"t\.csv:2: {column}: "):
        load_suite(path)


REFUSED = {
    "providers": "prompts: [x]\nproviders: [bedrock:m]\n",
    "prompts": "prompts: ['langfuse://x:1']\nproviders: [echo]\n",
    "the provider of a test": "prompts: [x]\nproviders: [echo, bedrock:m]\n",
}


@pytest.mark.parametrize("what", REFUSED)
def test_assertions_are_read_though_all_that_they_are_for_is_refused(configured, what):
    given = REFUSED[what] + TESTS + "{type: contians, value: x}\n"
    given += "    providers: [bedrock:m]\n" if what == "the provider of a test" else ""
    with pytest.raises(EvalConfigError) as caught:
        load_suite(configured(given))
    assert [problem.line for problem in caught.value.problems] == [1 if what == "prompts" else 2, 6]


def test_a_wrong_assertion_and_a_note_are_told_once_for_all_their_cases(configured):
    wrong = {
        "vars": {"o": ["a", "b"]},
        "assert": [{"type": "contains", "description": "why"}, {"type": "moderation"}],
    }
    both = {"prompts": ["{{o}}", "say {{o}}"], "providers": ["echo", {"id": "echo", "label": "second"}]}
    with pytest.raises(EvalConfigError) as caught:
        load_suite(configured({**both, "tests": [wrong]}))
    assert [problem.key for problem in caught.value.problems] == [
        "tests[0].assert[0].contains",
        "tests[0].assert[1].moderation",
    ]
    wrong["assert"] = [{"type": "contains", "value": "a", "description": "why"}]
    assert len(import_promptfoo(configured({**both, "tests": [wrong]})).notes) == 1


def test_the_providers_that_are_expected_are_all_served(configured):
    with pytest.raises(EvalConfigError) as caught:
        load_suite(configured("prompts: [x]\nproviders: [bedrock:m]\n"))
    (problem,) = caught.value.problems
    for name in ("exec:", "https:", "python:", "anthropic:messages"):
        assert name in problem.message


def test_filters_that_let_nothing_through_are_an_error(configured):
    path = configured({"providers": [{"id": "echo", "prompts": ["other"]}], "tests": [{"vars": {"o": "a"}}]})
    with pytest.raises(EvalConfigError, match="let nothing through"):
        load_suite(path)


def test_a_suite_of_ours_is_none_of_promptfoo(tmp_path):
    (tmp_path / "suite.yaml").write_text(
        "agent: {provider: {echo: true}}\nprompts: [x]\ncases: [{input: x}]\n"
    )
    with pytest.raises(EvalConfigError, match="prompts"):
        load_suite(tmp_path / "suite.yaml")
