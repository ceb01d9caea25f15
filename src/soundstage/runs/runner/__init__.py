"""The runner: a prompt to any target, watched, within a budget, kept. Its names are in `soundstage.runs`."""
