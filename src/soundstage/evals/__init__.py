"""Evals: a run as in a test, repeated, scored and counted. `soundstage.evals.statistics` says what the counts mean."""
