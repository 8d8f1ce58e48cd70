"""The demonstration: researches two questions over the example documents, in English and Chinese, and proves it."""

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
QUESTIONS = (
    "How much did the Halden Bay heat pump retrofit cost and what did it achieve?",
    "青岚市的海绵城市改造花了多少钱，效果如何？",
)


def main() -> int:
    """Research both questions; show the English report, and where everything lies."""
    folder = Path("logs") / "demo"
    env = os.environ | {"DEEP_RESEARCH_HOME": str(folder / "home"), "DEEP_RESEARCH_LOGS": str(folder)}
    for question in QUESTIONS:
        print(f"\n$ deep-research {question!r} --docs examples/documents --strategy local\n", flush=True)
        command = [sys.executable, "-m", "deep_research", question, "--docs", str(HERE / "documents"), "--json"]
        command += ["--strategy", "local"]
        finished = subprocess.run(command, env=env, check=False, stdout=subprocess.PIPE, text=True)
        if finished.returncode != 0:
            return finished.returncode
        result = json.loads(finished.stdout)
        run = Path(result["run"]["folder"])
        check = json.loads((run / "verify.json").read_text(encoding="utf-8"))
        print(f"\n{result['finalReport']}")
        print(f"verify.json: passed = {check['passed']}, sentences = {check['paragraphs']['verdicts']}")
        for image in result["images"]:
            print(f"Figure: {image['address']}")
        page = folder / f"{run.name}.html"
        command = [sys.executable, "-m", "deep_research", "export", result["run"]["id"], "-o", str(page)]
        subprocess.run(command, env=env, check=True, stderr=subprocess.DEVNULL)
        print(f"Every sentence with its passage: {run / 'verification.md'}")
        print(f"To read and check in a browser: {page}")
    print("\nThe same in a browser, with these two reports in its history and the example documents to ask on:")
    kept = f"DEEP_RESEARCH_HOME={folder / 'home'} DEEP_RESEARCH_DOCS=examples/documents"
    print(f"  {kept} .venv/bin/deep-research serve --open")
    return 0


if __name__ == "__main__":
    sys.exit(main())
