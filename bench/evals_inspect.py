"""A program for the environment of peers: instant cases in inspect_ai; prints seconds and cases that pass."""

import sys
import tempfile
import time

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate


def answer() -> ModelOutput:
    """A reply that counts its tokens itself: to count them, mockllm would load a file from the network."""
    made = ModelOutput.from_content("mockllm/model", "The answer is short.")
    made.usage = ModelUsage(input_tokens=3, output_tokens=5, total_tokens=8)
    return made


count = int(sys.argv[1])
samples = [Sample(id=f"case {number}", input=f"question {number}", target="short") for number in range(count)]
model = get_model("mockllm/model", custom_outputs=[answer() for _ in samples])
task = Task(dataset=MemoryDataset(samples), solver=generate(), scorer=includes())
with tempfile.TemporaryDirectory() as folder:
    start = time.perf_counter()
    (log,) = evaluate(task, model=model, log_dir=folder, display="none")
    taken = time.perf_counter() - start
    passed = sum(sample.scores["includes"].value == "C" for sample in log.samples or ())
print(taken, passed)
