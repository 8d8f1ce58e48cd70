"""CPU of `deep-research --help` as a multiple of importing typer alone."""

import resource
import statistics
import subprocess
import sys

ROUNDS = 7
AIM = 2.5


def cpu_s(*arguments: str) -> float:
    """Return the CPU seconds of one child process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def report() -> None:
    """Print the table."""
    typer = statistics.median(cpu_s("-c", "import typer") for _ in range(ROUNDS))
    ours = {
        "--help": statistics.median(cpu_s("-m", "deep_research", "--help") for _ in range(ROUNDS)),
        "runs list": statistics.median(cpu_s("-m", "deep_research", "runs", "list") for _ in range(ROUNDS)),
    }
    print(f"command line, CPU (median of {ROUNDS})      import typer {typer * 1000:.0f} ms")
    for name, seconds in ours.items():
        aim = f"   aim ≤ {AIM}" if name == "--help" else ""
        print(f"  deep-research {name:<12} {seconds * 1000:5.0f} ms   × {seconds / typer:.2f}{aim}")
