"""The wing as users see it: importing it stays light."""

from __future__ import annotations

import subprocess
import sys


def test_a_live_model_loads_no_library_before_it_asks():
    code = (
        "import sys; from soundstage.live import LiveModel\n"
        "LiveModel('openai', api_key='k', allow=True)\n"
        "print([name for name in ('httpx', 'yaml', 'uvicorn', 'openai', 'anthropic') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
