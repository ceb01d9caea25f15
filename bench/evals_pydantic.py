"""A program for the environment of peers: instant cases in pydantic-evals; prints seconds and cases that pass."""

import asyncio
import sys
import time

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Contains


async def answer(question: str) -> str:
    """The agent."""
    return f"The answer to {question} is short."


async def main(count: int) -> None:
    """Evaluate, and tell."""
    cases = [Case(name=f"case {number}", inputs=f"question {number}") for number in range(count)]
    dataset = Dataset(name="suite", cases=cases, evaluators=[Contains(value="short")])
    start = time.perf_counter()
    report = await dataset.evaluate(answer, progress=False, max_concurrency=4)
    taken = time.perf_counter() - start
    print(taken, sum(all(one.value for one in case.assertions.values()) for case in report.cases))


asyncio.run(main(int(sys.argv[1])))
