"""The agents, their tools, and one run of them."""

from __future__ import annotations

import os

from openai import AsyncOpenAI

from agents import Agent, OpenAIProvider, RunConfig, Runner, function_tool

MODEL = os.environ.get("TEAM_MODEL", "gpt-4.1-mini")
INVOICES = {"17": 49.90, "18": 12.00}
MANUAL = {
    "reset": "Hold the button for ten seconds until the light is red.",
    "battery": "It lasts two days. Charge it with the cable from the box.",
}


@function_tool
def find_invoice(number: str) -> str:
    """Look an invoice up.

    Args:
        number: the number of the invoice.
    """
    amount = INVOICES.get(number)
    return f"invoice {number}: {amount:.2f} EUR" if amount is not None else f"there is no invoice {number}"


@function_tool
def refund(number: str, amount: float) -> str:
    """Pay money back.

    Args:
        number: the number of the invoice.
        amount: in EUR, at most what was paid.
    """
    paid = INVOICES.get(number, 0.0)
    return f"refunded {amount:.2f} EUR" if 0 < amount <= paid else f"refused: {paid:.2f} EUR were paid"


@function_tool
def search_manual(topic: str) -> str:
    """Look something up in the manual.

    Args:
        topic: one word.
    """
    return next(
        (text for word, text in MANUAL.items() if word in topic.lower()), "the manual has nothing on it"
    )


def build_team() -> Agent:
    """The agent that customers talk to, with those that it hands over to."""
    billing = Agent(
        name="billing",
        instructions="You are the billing agent of a shop. Look invoices up before you pay anything back.",
        tools=[find_invoice, refund],
    )
    support = Agent(
        name="support",
        instructions="You are the support agent of a shop. Answer from the manual only.",
        tools=[search_manual],
    )
    return Agent(
        name="triage",
        instructions="You are the triage agent of a shop. Hand over to billing for money, to support for the product.",
        handoffs=[billing, support],
    )


async def answer(question: str) -> str:
    """Answer a customer. Address and key of the model come from OPENAI_BASE_URL and OPENAI_API_KEY."""
    async with AsyncOpenAI() as client:
        config = RunConfig(
            model=MODEL,
            model_provider=OpenAIProvider(openai_client=client),
            workflow_name="help desk",
        )
        result = await Runner.run(build_team(), question, run_config=config, max_turns=10)
        return str(result.final_output)
