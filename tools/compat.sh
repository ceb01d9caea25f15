#!/bin/sh
# Compare the tables of fields and routes with the newest official SDKs, in an environment of its own.
# A field or a route that an SDK brings and the tables do not know fails, with its name.
set -eu
python=$1 home=$2

[ -x "$home/bin/python" ] || "$python" -m venv "$home"
"$home/bin/python" -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
# In a command of its own: the project's upper bounds are what this looks beyond.
"$home/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade openai anthropic google-genai
"$home/bin/python" -m pip list --disable-pip-version-check 2>/dev/null | grep -E '^(openai|anthropic|google-genai) '
"$home/bin/python" -m pytest -q -p no:cacheprovider tests/wire/test_fields_of_sdks.py tests/wire/test_routes_of_sdks.py
