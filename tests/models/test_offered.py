"""A scripted tool call is one that the model could have made, or the script says that it is meant to be wrong."""

import pytest

from soundstage.clock import run
from soundstage.errors import ScriptError
from soundstage.journal import Journal, ModelFailed
from soundstage.messages import ModelRequest, ToolDefinition, call, user
from soundstage.models import CallSpec, JournaledModel, Reply, Script, ScriptedModel, complete

WEATHER = ToolDefinition(
    name="get_weather",
    schema={
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": ["integer", "null"]}},
        "required": ["city"],
        "additionalProperties": False,
    },
)


def ask(script: Script, *tools: ToolDefinition, stream: bool = False):
    request = ModelRequest(model="m", messages=(user("go"),), tools=tools, stream=stream)
    return run(complete(ScriptedModel(script), request))


def says(*args, **fields) -> Script:
    script = Script()
    script.on(user="go", name="the forecast").reply(*args, **fields)
    return script


def test_a_call_that_fits_is_served():
    made = ask(says(call("get_weather", {"city": "Oslo", "days": None})), WEATHER)
    assert [one.name for one in made.tool_calls] == ["get_weather"]


@pytest.mark.parametrize("pace", [{}, {"tokens_per_second": 1000.0}, {"delay": 1.0}], ids=str)
def test_a_tool_that_was_not_offered_is_an_error_that_names_rule_and_tools(pace):
    with pytest.raises(ScriptError) as failed:
        ask(says(call("get_wether", {"city": "Oslo"}), **pace), WEATHER)
    message = str(failed.value)
    assert "rule 1 'the forecast' calls the tool 'get_wether', which this request does not offer" in message
    assert "expected: one of get_weather" in message
    assert "did you mean 'get_weather'?" in message
    assert "check_calls=False" in message


def test_a_request_without_tools_gets_no_calls():
    with pytest.raises(ScriptError, match="a request that offers tools"):
        ask(says(call("get_weather", {"city": "Oslo"})))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "argument 'city' is missing"),
        ({"city": 4}, "argument 'city': expected a text, seen the number 4"),
        ({"city": "Oslo", "dyas": 1}, "argument 'dyas' is not known"),
        ({"city": "Oslo", "days": "two"}, "argument 'days': expected"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_arguments_that_break_the_schema_are_an_error(arguments, problem, stream):
    with pytest.raises(ScriptError, match="'the forecast' calls the tool 'get_weather'") as failed:
        ask(says(call("get_weather", arguments)), WEATHER, stream=stream)
    assert problem in str(failed.value)


def test_each_call_of_a_reply_in_blocks_is_looked_at():
    blocks = [{"text": "a"}, call("get_weather", {"city": "Oslo"}), call("nothing")]
    with pytest.raises(ScriptError, match="'nothing'"):
        ask(says(blocks=blocks), WEATHER)


def test_what_a_function_returns_is_looked_at_too():
    with pytest.raises(ScriptError, match="'nothing'"):
        ask(says(lambda _: Reply(tool_calls=(CallSpec(name="nothing"),))), WEATHER)


@pytest.mark.parametrize(
    "wanted", [call("nothing"), call("get_weather", {"city": 4})], ids=["tool", "arguments"]
)
def test_a_rule_may_say_that_it_is_deliberate(wanted):
    made = ask(says(wanted, check_calls=False), WEATHER)
    assert made.tool_calls[0].name == wanted.name


def test_a_script_file_may_say_so_too():
    rule = {"when": {"user": "go"}, "reply": {"tool_calls": [{"name": "nothing"}], "check_calls": False}}
    assert ask(Script.from_data({"rules": [rule]})).tool_calls[0].name == "nothing"


def test_raw_arguments_are_deliberate_but_the_tool_must_be_there():
    raw = [{"name": "get_weather", "raw": "{half"}]
    assert ask(says(tool_calls=raw), WEATHER).tool_calls[0].raw == "{half"
    with pytest.raises(ScriptError, match="does not offer"):
        ask(says(tool_calls=raw))


@pytest.mark.parametrize(
    "schema",
    [{"type": "object", "properties": []}, {"required": 3}, {"properties": {"city": {"pattern": "(?!"}}}],
    ids=str,
)
def test_a_schema_that_is_none_is_not_the_scripts_fault(schema):
    tool = ToolDefinition(name="get_weather", schema=schema)
    assert ask(says(call("get_weather", {"city": "Oslo"})), tool).tool_calls


def test_a_providers_own_tool_has_no_schema_in_the_request():
    bash = ToolDefinition(name="bash", type="bash_20250124", schema={"required": ["max_uses"]})
    assert ask(says(call("bash", {"command": "x"})), bash).tool_calls


@pytest.mark.parametrize("kind", ["web_search_20250305", "code_execution_20250825", "googleSearch", "mcp"])
def test_a_tool_that_the_provider_runs_is_nothing_to_ask_an_app_for(kind):
    tool = ToolDefinition(name="search", type=kind)
    with pytest.raises(ScriptError, match=r"'the forecast'.*'search', which the provider runs itself"):
        ask(says(call("search")), tool)


def test_the_mistake_fails_the_run_though_the_app_swallows_the_error():
    from soundstage.host._checks import require_clean_end

    journal, scripted = Journal(), ScriptedModel(says(call("nothing")))
    model = JournaledModel(scripted, journal)
    request = ModelRequest(model="m", messages=(user("go"),))
    with pytest.raises(ScriptError):
        run(complete(model, request))
    assert [event.reason for event in journal.events(ModelFailed)] == ["script"]
    with pytest.raises(ScriptError, match=r"(?s)calls the tool .nothing., which this request does not offer"):
        require_clean_end(journal, scripted)
