"""A travel desk on LangGraph: a supervisor hands tasks to a researcher and a planner.

OPENAI_API_KEY=... python -m examples.langgraph_team "Two days in Bern, by train, please"
"""
