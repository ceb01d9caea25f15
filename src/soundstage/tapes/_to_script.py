"""Tapes as scripts: a rule for each recorded call, with the few conditions that tell it from the others. Pure.

How it works. Each exchange offers conditions: the purpose and the agent where there are several, a piece of the tool
result or of the user's words, then what else may tell it apart (system prompt, iteration, turn, ...). Which conditions
hold for which requests is asked of the scripted model itself, so a rule means here what it means when it serves. An
exchange takes conditions until no exchange with another reply fits them; what is still alike is told apart by order,
because every rule serves so many times and then steps aside. Equal calls with equal replies become one rule.

The result is tried: the script answers every request of the tape, and what is not as recorded is listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from soundstage.clock import run
from soundstage.errors import ConnectionCut, ModelError, ProviderError, ScriptError
from soundstage.messages import MAIN, ModelChunk, ModelRequest, ModelResponse, respond
from soundstage.models import Reply, Script, ScriptedModel, When
from soundstage.tapes._exchange import RecordedExchange, RecordedFailure, failure_of
from soundstage.tapes._script_reply import reply_of
from soundstage.tapes._yaml import as_yaml

LONGEST: Final = 60  # characters of a literal text in a rule
_VOLATILE: Final = re.compile(r"\d{5,}|[0-9a-f]{8}-|/tmp/|/var/|\d\d:\d\d|\d{4}-\d\d-\d\d|0x[0-9a-f]+")
_PIECES: Final = 40  # pieces of a text that are tried


class DraftRule(NamedTuple):
    """A rule made of recorded calls.

    Args:
        when: its conditions.
        reply: what it answers.
        numbers: the exchanges that it stands for; it serves as often.
    """

    when: dict[str, Any]
    reply: Reply
    numbers: tuple[int, ...]


class ScriptDraft(NamedTuple):
    """A tape as a script.

    Args:
        rules: in the order in which they are asked.
        problems: what of the tape a script cannot say, one line each.
    """

    rules: tuple[DraftRule, ...]
    problems: tuple[str, ...] = ()

    def as_data(self, *, default: str = "") -> dict[str, Any]:
        """The script as a file has it: strict, unless there is a default reply."""
        head = {"default": default} if default else {"strict": True}
        return {"version": 1, **head, "rules": [_rule_data(rule) for rule in self.rules]}

    def as_yaml(self, *, default: str = "") -> str:
        """The script as a file in YAML."""
        return as_yaml(self.as_data(default=default))

    def script(self) -> Script:
        """The script, ready to serve."""
        found = Script(strict=True)
        for rule in self.rules:
            found.add(When(**rule.when), rule.reply, times=len(rule.numbers))
        return found


class _Call(NamedTuple):
    """An exchange with a model, and what it is told apart by.

    Args:
        exchange: as recorded.
        request: what was asked.
        reply: what a rule answers.
        wanted: conditions that its rule has anyway.
        further: conditions that it may have, the plainest first.
    """

    exchange: RecordedExchange
    request: ModelRequest
    reply: Reply
    wanted: tuple[Condition, ...]
    further: tuple[Condition, ...]


Condition = tuple[str, str]  # a name, and its value as JSON


def script_of_tape(exchanges: Iterable[RecordedExchange]) -> ScriptDraft:
    """A script that answers the requests of a tape as they were answered.

    Example:
        >>> from soundstage.messages import ModelRequest, ModelResponse, Text, user
        >>> asked = ModelRequest(model="m", messages=(user("weather in Paris"),))
        >>> exchange = RecordedExchange(number=1, request=asked, response=ModelResponse(parts=(Text(text="sunny"),)))
        >>> [(rule.when, rule.reply.text) for rule in script_of_tape([exchange]).rules]
        [({'user': 'weather in Paris'}, 'sunny')]
    """
    kept = list(exchanges)
    problems = [_no_request(one) for one in kept if one.request is None]
    calls = _calls([one for one in kept if one.request is not None], problems)
    fitting = _fitting(calls)
    chosen = [_chosen(place, calls, fitting) for place in range(len(calls))]
    draft = ScriptDraft(tuple(_merged(calls, chosen, fitting)), tuple(problems))
    draft = _deliberate(draft, calls)
    return draft._replace(problems=(*draft.problems, *_differing(draft.script(), calls)))


def _no_request(exchange: RecordedExchange) -> str:
    path = exchange.http.path if exchange.http is not None else "no request"
    return f"exchange {exchange.number} asks no model ({path}): a script does not answer it"


def _calls(exchanges: Sequence[RecordedExchange], problems: list[str]) -> list[_Call]:
    requests = [one.request for one in exchanges if one.request is not None]
    several = len({request.caller.agent for request in requests}) > 1
    texts: dict[str, list[str]] = {
        "user": [request.last_user_text or "" for request in requests],
        "tool_result": [result.text for request in requests for result in request.tool_results],
        "system": [request.system_text for request in requests],
    }
    texts = {name: list(dict.fromkeys(filter(None, found))) for name, found in texts.items()}
    found = []
    for exchange, request in zip(exchanges, requests, strict=True):
        reply, lost = reply_of(exchange, request)
        problems.extend(f"exchange {exchange.number}: {words}" for words in lost)
        wanted = tuple(_wanted(request, texts, several=several))
        further = tuple(one for one in _further(request, texts) if one not in wanted)
        found.append(_Call(exchange, request, reply, wanted, further))
    return found


def _wanted(request: ModelRequest, texts: dict[str, list[str]], *, several: bool) -> Iterator[Condition]:
    """The conditions of a rule in any case: who asks, and what for."""
    if request.purpose != MAIN:
        yield _condition("purpose", _plain(request.purpose))
    if several and request.caller.agent:
        yield _condition("agent", _plain(request.caller.agent))
    results = [result.text for result in request.tool_results if result.text]
    if results:
        yield _condition("tool_result", _plain(_piece(results[-1], texts["tool_result"])))
    elif request.tool_results:
        yield ("tool_result", "true")
    elif request.last_user_text:
        yield _condition("user", _plain(_piece(request.last_user_text, texts["user"])))


def _further(request: ModelRequest, texts: dict[str, list[str]]) -> Iterator[Condition]:
    """More conditions that hold for a request."""
    words = request.last_user_text
    if words:
        yield _condition("user", _plain(_piece(words, texts["user"])))
    if words and len(words) <= LONGEST:
        yield _condition("user", {"equals": words})
    if not request.tool_results:
        yield ("tool_result", "false")
    for result in request.tool_results[:-1]:
        if result.text:
            yield _condition("tool_result", _plain(_piece(result.text, texts["tool_result"])))
    if request.system_text:
        yield _condition("system", _plain(_piece(request.system_text, texts["system"])))
    if request.model:
        yield _condition("model", _plain(request.model))
    for tool in request.tools[:8]:
        yield _condition("tool", _plain(tool.name))
    if not request.tools:
        yield ("tools", "false")
    yield _condition("step", 1 + sum(message.role == "assistant" for message in request.messages))
    if request.turn:
        yield _condition("turn", request.turn)


def _condition(name: str, value: Any) -> Condition:
    return name, msgspec.json.encode(value).decode()


def _when(conditions: Iterable[Condition]) -> dict[str, Any]:
    """Conditions as a rule has them; two of one name must both hold."""
    found: dict[str, Any] = {}
    for name, text in conditions:
        value = msgspec.json.decode(text)
        found[name] = {"all": [found[name], value]} if name in found else value
    return found


def _plain(text: str) -> Any:
    """A text that means itself, also where it looks like an expression."""
    return {"text": text} if text.startswith("/") else text


def _piece(text: str, others: Sequence[str]) -> str:
    """A short piece of a text that the others do not have, if there is one, without what changes from run to run."""
    if len(text) <= LONGEST and "\n" not in text and not _VOLATILE.search(text):
        return text
    pieces = list(dict.fromkeys(_pieces(text)))[:_PIECES] or [text.strip()[:LONGEST] or text]
    rest = [other for other in others if other != text]
    steady = [piece for piece in pieces if not _VOLATILE.search(piece)]
    own = next((piece for piece in steady if not any(piece in other for other in rest)), None)
    return own or (steady or pieces)[0]


def _pieces(text: str) -> Iterator[str]:
    """The beginnings of its lines, whole words."""
    for line in text.splitlines():
        words = line.strip()
        while words:
            cut = words if len(words) <= LONGEST else words[:LONGEST].rpartition(" ")[0] or words[:LONGEST]
            if len(cut) >= min(8, len(text.strip())):
                yield cut
            words = words[len(cut) :].strip()


def _fitting(calls: Sequence[_Call]) -> dict[tuple[Condition, str], set[int]]:
    """For each condition, with the purpose of who asks, the places of the calls that fit it."""
    asked = dict.fromkeys(
        (condition, call.request.purpose) for call in calls for condition in (*call.wanted, *call.further)
    )
    probe = Script(strict=False)
    for condition, purpose in asked:
        probe.on(**{"purpose": purpose, **_when([condition])}).reply("fits")
    found: dict[tuple[Condition, str], set[int]] = {key: set() for key in asked}
    keys = list(asked)
    for place, served in enumerate(ScriptedModel(probe).replayed([call.request for call in calls])):
        for rule in ([served.rule] if served.rule is not None else []) + list(served.shadowed):
            found[keys[rule.number - 1]].add(place)
    return found


_Fitting = dict[tuple[Condition, str], set[int]]


def _chosen(place: int, calls: Sequence[_Call], fitting: _Fitting) -> tuple[Condition, ...]:
    """The conditions of one call: those that it has anyway, and more until no call with another reply fits them."""
    call = calls[place]
    purpose = call.request.purpose
    chosen = [one for one in call.wanted if place in fitting[one, purpose]]
    rivals = {
        other
        for other in range(len(calls))
        if calls[other].request.purpose == purpose and calls[other].reply != call.reply
    }
    for one in chosen:
        rivals &= fitting[one, purpose]
    open_to = [one for one in call.further if place in fitting[one, purpose] and one not in chosen]
    while rivals and open_to:
        best = min(open_to, key=lambda one: len(rivals & fitting[one, purpose]))
        if len(rivals & fitting[best, purpose]) == len(rivals):
            break
        chosen = [one for one in chosen if not _covers(best, one)] + [best]
        open_to.remove(best)
        rivals &= fitting[best, purpose]
    return tuple(chosen)


def _covers(narrow: Condition, wide: Condition) -> bool:
    """Whether the whole text is asked for where a piece of it was."""
    return narrow[0] == wide[0] == "user" and "equals" in narrow[1]


def _merged(
    calls: Sequence[_Call], chosen: Sequence[tuple[Condition, ...]], fitting: _Fitting
) -> list[DraftRule]:
    """Rules in the order of the calls; equal ones are one, where no other call between them would take it."""
    places: list[list[int]] = []
    by_key: dict[tuple[Any, ...], list[int]] = {}
    for place, call in enumerate(calls):
        key = (chosen[place], msgspec.json.encode(call.reply), call.request.purpose)
        group = by_key.get(key)
        if group is not None and _undisturbed(group, place, chosen[place], calls, fitting):
            group.append(place)
            continue
        by_key[key] = [place]
        places.append(by_key[key])
    return [
        DraftRule(
            _when(chosen[group[0]]),
            calls[group[0]].reply,
            tuple(calls[place].exchange.number for place in group),
        )
        for group in places
    ]


def _undisturbed(
    group: Sequence[int],
    place: int,
    conditions: Sequence[Condition],
    calls: Sequence[_Call],
    fitting: _Fitting,
) -> bool:
    purpose = calls[place].request.purpose
    between = set(range(group[0], place)) - set(group)
    for condition in conditions:
        between &= fitting[condition, purpose]
    return not any(calls[one].request.purpose == purpose for one in between)


def _rule_data(rule: DraftRule) -> dict[str, Any]:
    when = {"when": rule.when} if rule.when else {}
    return {**when, "reply": msgspec.to_builtins(rule.reply), "times": len(rule.numbers)}


def _deliberate(draft: ScriptDraft, calls: Sequence[_Call]) -> ScriptDraft:
    """The draft, with `check_calls: false` where a recorded call is none that the request offers."""
    by_number = {call.exchange.number: call for call in calls}
    rules = []
    for rule in draft.rules:
        asked = [by_number[number].request for number in rule.numbers]
        bad = rule.reply.error is None and any(_refused(rule.reply, request) for request in asked)
        reply = msgspec.structs.replace(rule.reply, check_calls=False) if bad else rule.reply
        rules.append(rule._replace(reply=reply))
    return draft._replace(rules=tuple(rules))


def _refused(reply: Reply, request: ModelRequest) -> bool:
    if not any(block.tool_call is not None for block in reply.ordered_blocks):
        return False
    script = Script(strict=True)
    script.on(purpose=request.purpose).reply(msgspec.structs.replace(reply, fault=None))
    try:
        run(_answer(ScriptedModel(script), request))
    except ScriptError:
        return True
    return False


class AnsweredCall(NamedTuple):
    """An answer as it came: what of it, and how it failed."""

    response: ModelResponse | None
    failure: RecordedFailure | None


def answers_of(script: Script, requests: Sequence[ModelRequest]) -> list[AnsweredCall]:
    """The answers of a script to requests, one after the other; a stall without an end is an app that left.

    Raises:
        ScriptError: for a request that no rule answers.
    """

    async def all_of() -> list[AnsweredCall]:
        model = ScriptedModel(script)
        return [await _answer(model, request) for request in requests]

    return run(all_of())


async def _answer(model: ScriptedModel, request: ModelRequest) -> AnsweredCall:
    chunks: list[ModelChunk] = []
    failure = None
    try:
        async for chunk in model.stream(request):
            chunks.append(chunk)
    except (ProviderError, ConnectionCut) as error:
        failure = failure_of(error)
    return AnsweredCall(respond(chunks) if chunks else None, failure)


def _differing(script: Script, calls: Sequence[_Call]) -> list[str]:
    """The recorded calls that the script does not answer as recorded."""
    played = [call for call in calls if not _gone(call.exchange)]
    try:
        found = answers_of(script, [call.request for call in calls]) if played else []
    except (ModelError, ScriptError) as error:
        return [f"the script does not answer all of the tape: {error}"]
    return [
        f"exchange {call.exchange.number}: the script answers it otherwise than recorded"
        for call, answer in zip(calls, found, strict=True)
        if not _gone(call.exchange) and not same_answer(call.exchange, answer)
    ]


def _gone(exchange: RecordedExchange) -> bool:
    return exchange.failure is not None and exchange.failure.type == "client_gone"


def same_answer(exchange: RecordedExchange, answer: AnsweredCall) -> bool:
    """Whether an answer is the recorded one, but for where it comes from and the words of a cut."""
    recorded, seen = exchange.failure, answer.failure
    if (recorded is None) is not (seen is None):
        return False
    if recorded is not None and seen is not None:
        if recorded.type != seen.type or (recorded.type == "error" and recorded != seen):
            return False
        if recorded.type == "error":
            return True
    return _comparable(exchange.response) == _comparable(answer.response)


def _comparable(response: ModelResponse | None) -> ModelResponse:
    return msgspec.structs.replace(response or ModelResponse(finish="error"), served_by="", stopped_by="")
