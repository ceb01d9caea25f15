"""The benchmark's files are scripts beside each other; their pure logic is tested from here."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
