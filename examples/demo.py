"""The demonstration: a scripted run is killed with SIGKILL in the middle, resumed, and ends in its report."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

QUESTION = "What did the projects cost and achieve?"
COMMAND = [sys.executable, "-m", "deep_research"]


def main() -> int:
    """Start, kill, resume, show."""
    folder = Path(tempfile.mkdtemp(prefix="deep-research-demo-"))
    env = os.environ | {"DEEP_RESEARCH_HOME": str(folder / "home"), "DEEP_RESEARCH_LOGS": str(folder / "logs")}
    events = folder / "events.ndjson"
    wiring = ["--wiring", "deep_research.testing.world:build"]
    print(f"Asking: {QUESTION}", flush=True)
    first = subprocess.Popen([*COMMAND, "ask", QUESTION, *wiring, "--events", str(events)], env=env)
    while first.poll() is None and not (events.exists() and events.read_text().count('"search-task"') >= 3):
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    first.wait()
    told = len(events.read_text().splitlines())
    print(f"\nKilled with SIGKILL after {told} events. Resuming:\n", flush=True)
    listed = subprocess.run([*COMMAND, "runs", "list"], env=env, check=True, capture_output=True, text=True)
    run = listed.stdout.split()[0]
    return subprocess.run([*COMMAND, "runs", "resume", run], env=env, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
