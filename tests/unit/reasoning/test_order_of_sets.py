"""What is asked does not depend on the order of sets, which is another in each process."""

import os
import subprocess
import sys

PROGRAM = """
import hashlib
from deep_research.pipeline.absences import likely_stretches
from deep_research.reasoning.model.prompting import show_evidence
from deep_research.report.paragraph import Sentence
from deep_research.report.sources.document import Document
from tests.unit.reasoning.pieces import piece

words = [f"word{number}" for number in range(40)]
texts = [" ".join(words[at % 7 : at % 7 + 9] + words[at % 5 : at % 5 + 9]) + f" {at} end." for at in range(120)]
pieces = [piece(text, str(at % 30), start=at * 400) for at, text in enumerate(texts)]
shown = show_evidence(pieces, limit=2_000, sought=" ".join(words), of_each=2)
document = Document(id="d", snapshot="s", title="t", text="\\n".join(texts), media_type="", extractor="text/1")
found = likely_stretches([Sentence(text=" ".join(words), basis=" ".join(words[:9]))], [document])
print(hashlib.sha256(repr((shown, found)).encode()).hexdigest())
"""


def test_what_a_prompt_shows_is_the_same_in_each_process() -> None:
    def told(seed: int) -> str:
        env = {**os.environ, "PYTHONHASHSEED": str(seed)}
        return subprocess.run(
            [sys.executable, "-c", PROGRAM], env=env, check=True, capture_output=True, text=True
        ).stdout

    assert len({told(seed) for seed in range(4)}) == 1
