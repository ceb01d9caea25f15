"""A judge: a model that is asked about a run by a rubric, and answers with a verdict."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from soundstage.journal import Journal
from soundstage.judges._calibration import Calibration
from soundstage.judges._calibration_file import fitting_calibration
from soundstage.judges._errors import JudgmentFailedError
from soundstage.judges._events import RunJudged
from soundstage.judges._judgment import Judgment, judgment_of
from soundstage.judges._prompt import SYSTEM, write_prompt
from soundstage.judges._rubric import Rubric
from soundstage.judges._transcript import PURPOSE, JudgedTranscript, transcript_of
from soundstage.judges._verdict import RubricVerdict, read_verdict, verdict_schema
from soundstage.match import Predicate
from soundstage.messages import Caller, ModelRequest, ModelResponse, system, user
from soundstage.models import JournaledModel, Model, complete, script_of
from soundstage.runs.result import RunResult
from soundstage.scripts import Rule
from soundstage.trace import PRICES, Cost, PricingError, Trace

AGENT: Final = "judge"  # in journals
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


class Judge:
    """Judges runs by a rubric. A judge decides (`throw_on_fail`, `gate` of an eval) only once it has been calibrated.

    Args:
        rubric: what is judged.
        model: who judges; the live model that the rubric names unless given. A script answers it by rules with
            `purpose: judge`.
        verdict: the type of verdicts: a msgspec `Struct`, a dataclass, a `TypedDict` or a pydantic model with a field
            `passed`. Its fields `score`, `criteria` and `evidence` count too, if it has them.

    Attributes:
        name: the model as journals and calibrations know it.
        fingerprint: of rubric, prompt and model; a calibration holds for one.

    Raises:
        WrongTypeError: for another type of verdicts.
        EnvironmentProblem: if a live model is needed that may not be asked.

    Example:
        ::

            judge = Judge(load_rubric("repair.yaml"))
            judgment = await judge.judge(result, journal=journal)
            print(judgment.outcome, judgment.score, judgment.evidence)
    """

    def __init__(self, rubric: Rubric, model: Model | None = None, *, verdict: Any = RubricVerdict) -> None:
        self.rubric = rubric.normalised()
        self.verdict = verdict
        self._schema = verdict_schema(verdict)
        self._asked = rubric.model.partition("/")[2] or rubric.model
        self.model = model if model is not None else _live_model(rubric.model)
        self.name = _name_of(self.model, self._asked)
        self.fingerprint = self._fingerprint()

    def _fingerprint(self) -> str:
        counted = msgspec.structs.replace(self.rubric, extra={}, path=None, model="any")
        criteria = [msgspec.structs.replace(one, extra={}) for one in counted.criteria]
        words = [SYSTEM, write_prompt(counted, JudgedTranscript(()), self._schema), self.name]
        whole = [words, counted.name, counted.pass_threshold, criteria]
        return hashlib.sha256(msgspec.json.encode(whole)).hexdigest()[:16]

    def prompt(self, run: RunResult | Trace | JudgedTranscript | str) -> str:
        """The words that the judge is asked about a run."""
        return write_prompt(self.rubric, transcript_of(run), self._schema)

    @property
    def calibration(self) -> Calibration:
        """The calibration that lets this judge decide.

        Raises:
            CalibrationError: if there is none beside the rubric that fits, or it found the judge too weak.
        """
        return fitting_calibration(self.rubric, self.name, self.fingerprint)

    async def judge(
        self,
        run: RunResult | Trace | JudgedTranscript | str,
        *,
        attachments: Mapping[str, str] | None = None,
        journal: Journal | None = None,
        throw_on_fail: bool = False,
    ) -> Judgment:
        """Judge a run.

        Args:
            run: its result, its trace, or a text that is the whole transcript.
            attachments: further texts that the judge reads and may quote, by name.
            journal: of the run: gets the request, the reply and a `RunJudged`, with the judge's own tokens and cost.
            throw_on_fail: raise unless the run passes. A judge that has not been calibrated may not.

        Raises:
            JudgmentFailedError: if the model gives no verdict; and with `throw_on_fail` if the run does not pass.
            CalibrationError: with `throw_on_fail`, without a calibration that fits.
        """
        if throw_on_fail:
            _ = self.calibration
        transcript = transcript_of(run).attached(attachments or {})
        judgment = await self.ask(transcript, self.rubric, journal)
        if throw_on_fail and not judgment.passed:
            raise JudgmentFailedError(
                f"the run does not pass the rubric {self.rubric.name!r}: {judgment.outcome}",
                judgment=judgment,
                expected=f"a score of at least {self.rubric.pass_threshold:g}, and every criterion at its threshold",
                seen="\n".join([*judgment.reasons, judgment.reasoning]),
            )
        return judgment

    async def ask(
        self, transcript: JudgedTranscript, rubric: Rubric, journal: Journal | None = None
    ) -> Judgment:
        """Ask the model once, by this rubric or by one with the same criteria in another order.

        Raises:
            JudgmentFailedError: if the model gives no verdict.
        """
        prompt = write_prompt(rubric, transcript, self._schema)
        response = await complete(self._journaled(journal), self._request(prompt))
        facts: dict[str, Any] = {
            "judge": self.name,
            "usage": response.usage,
            "cost": _cost(response, self._asked),
            "fingerprint": self.fingerprint,
        }
        try:
            verdict = read_verdict(response.text, self.verdict, rubric)
        except JudgmentFailedError as error:
            void = Judgment(rubric=rubric.name, outcome="void", reasons=(error.seen,), **facts)
            _record(void, journal)
            raise
        judgment = judgment_of(verdict, self.rubric, transcript, **facts)
        _record(judgment, journal)
        return judgment

    def _request(self, prompt: str) -> ModelRequest:
        conversation = f"judge {hashlib.sha256(prompt.encode()).hexdigest()[:8]}"
        return ModelRequest(
            model=self._asked,
            messages=(system(SYSTEM), user(prompt)),
            purpose=PURPOSE,
            caller=Caller(agent=AGENT, conversation=conversation),
        )

    def _journaled(self, journal: Journal | None) -> Model:
        """The model, journaled once, whether or not it is journaled already."""
        if journal is None:
            return self.model
        own = isinstance(self.model, JournaledModel) and self.model.journal is journal
        return JournaledModel(self.model.inner if own else self.model, journal, source=AGENT)  # type: ignore[attr-defined]


def _record(judgment: Judgment, journal: Journal | None) -> None:
    if journal is not None:
        journal.append(
            RunJudged(
                rubric=judgment.rubric,
                judge=judgment.judge,
                outcome=judgment.outcome,
                score=judgment.score,
                criteria=dict(judgment.criteria),
                evidence=judgment.evidence,
                reasons=judgment.reasons,
                reasoning=judgment.reasoning,
                usage=judgment.usage,
                cost=judgment.cost.amount,
                fingerprint=judgment.fingerprint,
            ),
            source=AGENT,
        )


def _cost(response: ModelResponse, asked: str) -> Cost:
    if not response.usage.total_tokens:
        return Cost(amount=None, reason="the reply of the judge reports no tokens")
    try:
        return Cost(amount=PRICES.charge(response.model or asked, response.usage))
    except PricingError as error:
        return Cost(amount=None, reason=f"{error.summary}: {error.seen}")


def _live_model(name: str) -> Model:
    from soundstage.live import LiveModel

    made: Any = LiveModel  # it checks the name of the format
    model: Model = made(name.partition("/")[0])
    return model


def _name_of(model: Model, asked: str) -> str:
    """The model as calibrations know it. A tape stands for the model that was recorded, a script for itself."""
    script = script_of(model)
    if script is not None:
        rules = [
            (rule.describe(), _content(rule.reply), _tests_of(rule), rule.priority, rule.times)
            for rule in script.rules
        ]
        return f"script {hashlib.sha256(repr((rules, script.default)).encode()).hexdigest()[:12]}"
    inner: Any = model
    while hasattr(inner, "inner"):
        inner = inner.inner
    here = urlsplit(getattr(inner, "url", "")).hostname in _LOOPBACK
    other = getattr(inner, "elsewhere", "")
    place = " on this machine" if here else f" at {other}" if other else ""
    return (getattr(inner, "model", "") or asked) + place


def _tests_of(rule: Rule) -> list[str]:
    """The functions among its conditions; words alone do not tell one from another."""
    return [_content(part.function) for _, part in rule.conditions if isinstance(part, Predicate)]


def _content(value: object) -> str:
    """A reply, or the function that makes it: its name and the file that it is in, which has all that it uses there."""
    if not callable(value):
        return repr(value)
    function = inspect.unwrap(value)
    name = getattr(function, "__qualname__", type(function).__name__)
    try:
        source = Path(inspect.getfile(function)).read_bytes()
    except (OSError, TypeError):  # typed at a prompt: it is known by its name alone
        return name
    return f"{name} {hashlib.sha256(source).hexdigest()}"
