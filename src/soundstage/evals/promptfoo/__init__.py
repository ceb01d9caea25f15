"""Configurations of promptfoo as suites: for `soundstage eval run promptfooconfig.yaml` and `eval import promptfoo`.

A configuration becomes the data of a suite file: a case for each prompt, provider and test, rendered, with evaluators
of ours. What has no place here is a problem with file, line and key, and all are told before anything starts.
"""
