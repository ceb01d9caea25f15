"""The package as users see it: importing it stays light."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("httpx", "yaml", "difflib", "jsonschema", "uvicorn")


def test_importing_the_models_imports_nothing_that_is_only_sometimes_needed():
    code = f"import sys, soundstage.models; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_script_of_a_few_rules_needs_no_automaton_and_no_yaml():
    code = (
        "import sys\n"
        "from soundstage.models import *\n"
        "script = Script()\n"
        "script.on(user='a').reply('b')\n"
        "ScriptedModel(script)\n"
        "Script.from_data({'rules': [{'reply': 'a'}]})\n"
        "print('yaml' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
