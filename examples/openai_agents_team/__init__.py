"""A shop's help desk on the OpenAI Agents SDK: triage hands over to billing or to support.

OPENAI_API_KEY=... python -m examples.openai_agents_team "Invoice 17 is wrong, I want my money back"
"""
