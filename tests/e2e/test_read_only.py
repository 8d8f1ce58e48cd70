"""A home that cannot be written can still be read: runs, documents and settings are shown, and a change is refused."""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.e2e.harness import QUESTION, Lab, User, assert_explained

# Capabilities by which root may read and write whatever it likes: DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER.
ALMIGHTY = (1, 2, 3)
DROP_CAPABILITY = 24


def _bind_root() -> None:
    """Let the rights of files bind root too, from the next program on."""
    if os.geteuid() == 0:
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        if any(prctl(DROP_CAPABILITY, number, 0, 0, 0) for number in ALMIGHTY):
            os._exit(99)


@dataclass(frozen=True)
class Home:
    """A copy of a home with rights of its own, and what commands said that ran on it."""

    path: Path
    commands: tuple[str, ...]
    folder: int = 0o500
    files: int = 0o400
    said: dict[str, "subprocess.CompletedProcess[str]"] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)

    def set_rights(self, *, folder: int, files: int) -> None:
        for file in self.path.iterdir():
            file.chmod(files)
        self.path.chmod(folder)


@dataclass(frozen=True)
class Kept:
    """What two users kept, and their homes in all the ways in which one cannot be written."""

    user: User
    run: str
    events_of_killed: int
    homes: dict[str, Home]


SHOWN = ("list", "show", "resume", "folders", "search", "settings", "cache")
MOUNT = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """Run all commands on all homes, in one process that may not do more than the rights of files allow."""
    folder = tmp_path_factory.mktemp("read-only")
    user, killed = User(folder / "user"), User(folder / "killed")
    run = Lab(user).ask().id
    docs = user.folder / "docs"
    docs.mkdir()
    (docs / "apples.md").write_text("# Apples\n\nApples are red. 苹果是红的。\n", encoding="utf-8")
    assert user.call("corpus", "add", str(docs)).returncode == 0
    # Its last writes stand in the log alone.
    assert killed.ask("quick", TEST_KILL_AT="60").returncode == -signal.SIGKILL
    reference = User(shutil.copytree(killed.folder, folder / "reference"))

    everything, some = (*SHOWN, "retry", "doctor"), ("list", "folders", "search", "retry", "doctor")
    homes = {
        "folder": Home(shutil.copytree(user.home, folder / "1"), everything),
        "files": Home(shutil.copytree(user.home, folder / "2"), some, folder=0o700),
        "mounted": Home(shutil.copytree(user.home, folder / "3"), some, folder=0o700, files=0o600),
        "unreadable": Home(shutil.copytree(user.home, folder / "4"), ("list", "doctor"), files=0o000),
        "log": Home(shutil.copytree(killed.home, folder / "5"), ("events",)),
        "log alone": Home(shutil.copytree(killed.home, folder / "6"), ("events",)),
    }
    (homes["log alone"].path / "store.db-shm").unlink()
    before: tuple[str, ...] = ("unshare", "--mount", "sh", "-c", MOUNT, str(homes["mounted"].path))
    if not shutil.which("unshare") or subprocess.run([*before, "true"], capture_output=True, check=False).returncode:
        del homes["mounted"]
        before = ()
    commands = {
        "list": ("runs", "list"),
        "show": ("runs", "show", run),
        "events": ("runs", "show", reference.only_run().id, "--json"),
        "resume": ("runs", "resume", run, "--quiet"),
        "retry": ("runs", "retry", run, "--quiet"),
        "folders": ("corpus", "list", "--json"),
        "search": ("corpus", "search", "苹果", "--docs", str(docs)),
        "settings": ("config", "show"),
        "cache": ("cache", "show"),
        "doctor": ("doctor",),
    }
    for home in homes.values():
        home.names.extend(file.name for file in home.path.iterdir())
        home.set_rights(folder=home.folder, files=home.files)
    _run_on(list(homes.values()), commands, user, before)
    for home in homes.values():
        home.path.chmod(0o700)
    return Kept(user, run, len(reference.events()), homes)


def _run_on(homes: list[Home], commands: dict[str, tuple[str, ...]], user: User, before: tuple[str, ...]) -> None:
    order = json.dumps(
        [str(user.folder), [(str(home.path), [commands[name] for name in home.commands]) for home in homes]]
    )
    process = subprocess.run(
        [*before, sys.executable, __file__, order],
        env={**user.environment(), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=_bind_root,
    )
    if process.returncode == 99:
        pytest.skip("root can write anywhere, and cannot be kept from it here")
    assert process.returncode == 0, process.stderr
    for home, ended in zip(homes, json.loads(process.stdout), strict=True):
        for name, said in zip(home.commands, ended, strict=True):
            home.said[name] = subprocess.CompletedProcess(commands[name], *said)


@pytest.mark.parametrize("name", ["folder", "files", "mounted"])
def test_what_is_kept_can_be_read_though_nothing_can_be_written(kept: Kept, name: str) -> None:
    if name not in kept.homes:
        pytest.skip("nothing can be mounted here")
    home = kept.homes[name]
    said = home.said
    for command in set(SHOWN) & set(home.commands):
        assert said[command].returncode == 0, (command, said[command].stderr)
    assert kept.run[:8] in said["list"].stdout
    if name == "folder":
        assert QUESTION in said["show"].stdout
        assert said["resume"].stdout.startswith("# "), "a finished run is shown again"
    assert "store.db cannot be opened for writing: check the rights" in assert_explained(said["retry"], 73)
    assert str(kept.user.folder / "docs") in said["folders"].stdout
    assert "searched as it stands" in said["search"].stderr
    assert "apples.md" in said["search"].stdout
    assert "Traceback" not in said["doctor"].stderr
    assert "1 run," in said["doctor"].stdout
    assert sorted(file.name for file in home.path.iterdir()) == sorted(home.names), "nothing is left behind"


@pytest.mark.parametrize("name", ["log", "log alone"])
def test_what_stands_in_the_log_alone_is_read_too(kept: Kept, name: str) -> None:
    said = kept.homes[name].said["events"]
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout)["run"]["events"] == kept.events_of_killed > 10


def test_a_store_that_cannot_be_read_is_said_to_be(kept: Kept) -> None:
    said = kept.homes["unreadable"].said
    assert "check the rights" in assert_explained(said["list"], 73)
    assert "Traceback" not in said["doctor"].stderr
    assert "check the rights" in said["doctor"].stdout


def _run_commands(folder: str, homes: list[tuple[str, list[list[str]]]]) -> None:
    ended = []
    for home, commands in homes:
        user = User(Path(folder), env={"DEEP_RESEARCH_HOME": home})
        said = [user.call(*command) for command in commands]
        ended.append([(process.returncode, process.stdout, process.stderr) for process in said])
    print(json.dumps(ended))


if __name__ == "__main__":
    _run_commands(*json.loads(sys.argv[1]))
