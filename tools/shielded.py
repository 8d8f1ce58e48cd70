"""Runs the tests that name a system program or a font as if this machine had none of them.

A machine that keeps packages would else hide that a test, or the program, fails without them: `make test` has to pass
on a machine that has Python and make alone. In a mount namespace of its own, the programs and the folders of fonts are
covered with nothing, and the home and its caches are new; the machine itself stays as it is.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.programs import FOLDERS, PROGRAMS, found  # noqa: E402  # the path is set above

# What a file of tests mentions that starts a program, draws a chart or writes a PDF; long and slow tests of other
# things need not stand in such a file.
_NAMES = re.compile(
    r"""(?ix) chromium | bubblewrap | bwrap | docker | matplotlib | zhplot | postgres(?:_server|\b.*server)
    | support\.(?:browser|charts|page|postgres|programs) | [("]charts?"?=True | CHARTS["':\s=]+"?true | \bto_pdf\b"""
)


def main(arguments: list[str]) -> int:
    """Run pytest shielded; what else is given goes to it."""
    if arguments[:1] == ["--covered"]:
        return _run_covered(arguments[1:])
    apart = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    try:
        is_possible = subprocess.run([*apart, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        is_possible = False
    command = [sys.executable, __file__, "--covered", *arguments]
    return subprocess.run([*apart, *command] if is_possible else command, check=False).returncode


def _run_covered(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="shielded-") as folder:
        _cover(Path(folder))
        if visible := found():
            sys.stderr.write(f"These cannot be hidden here, so the tests were not run: {', '.join(visible)}\n")
            return 1
        home = {"HOME": folder, "XDG_CACHE_HOME": f"{folder}/cache", "MPLCONFIGDIR": f"{folder}/matplotlib"}
        command = [sys.executable, "-m", "pytest", *arguments, *_files()]
        return subprocess.run(command, cwd=ROOT, env={**os.environ, **home}, check=False).returncode


def _cover(folder: Path) -> None:
    """Cover each program with a file that nobody can run, and each folder with an empty one."""
    covers = dict.fromkeys(_paths(), "/dev/null") | {path: folder for path in FOLDERS if path.is_dir()}
    for path, cover in covers.items():
        subprocess.run(["mount", "--bind", str(cover), str(path)], capture_output=True, check=False)


def _paths() -> list[Path]:
    names = [name for names in PROGRAMS.values() for name in names]
    places = [Path(place) for place in os.get_exec_path()]
    return [place / name for place in places for name in names if (place / name).is_file()]


def _files() -> list[str]:
    return sorted(str(path) for path in (ROOT / "tests").rglob("test_*.py") if _NAMES.search(path.read_text("utf-8")))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
