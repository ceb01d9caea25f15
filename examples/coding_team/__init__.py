"""A team of eight agents that works on a software project, and an orchestrator that plans for them.

`python -m examples.coding_team "task"` puts it to work with a real model; see README.md in this folder.
"""
