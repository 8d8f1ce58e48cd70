"""`sandbox check`, `sandbox build-image` and `doctor`: a user learns whether chart code can be run, or why not."""

from pathlib import Path

import pytest

from tests.e2e.harness import User
from tests.support.bubblewrap import NEEDS_BUBBLEWRAP

CLIENT = """#!/bin/sh
echo "Cannot connect to the Docker daemon. Is it running?" >&2
exit 1
"""


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder of programs in which Docker is, without its engine, and nothing else."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "docker").write_text(CLIENT)
    (folder / "docker").chmod(0o755)
    return folder


def test_says_why_no_sandbox_can_be_had_and_research_goes_on(user: User, programs: Path):
    checked = user.run("sandbox", "check", PATH=str(programs), SANDBOX_BACKEND="auto")
    assert checked.returncode == 70
    assert (
        "docker: Cannot connect to the Docker daemon. Is it running?; bubblewrap: bwrap is not installed"
        in checked.stderr
    )
    assert "Install bubblewrap or start Docker." in checked.stderr
    doctor = user.run("doctor", PATH=str(programs), SANDBOX_BACKEND="auto")
    assert doctor.returncode == 0
    (line,) = [line for line in doctor.stdout.splitlines() if " sandbox " in line]
    assert line.startswith("off")
    assert "bwrap is not installed" in line


def test_a_backend_that_is_named_is_the_only_one_asked(user: User, programs: Path):
    checked = user.run("sandbox", "check", PATH=str(programs), SANDBOX_BACKEND="bubblewrap")
    assert "docker:" not in checked.stderr
    off = user.call("sandbox", "check", SANDBOX_BACKEND="off")
    assert (off.returncode, "SANDBOX_BACKEND" in off.stderr) == (70, True)
    assert user.call("sandbox", "check", SANDBOX_BACKEND="chroot").returncode == 64


def test_an_image_that_cannot_be_built_is_explained(user: User, programs: Path):
    built = user.run("sandbox", "build-image", PATH=str(programs))
    assert built.returncode == 70
    assert "Cannot connect to the Docker daemon" in built.stderr


@NEEDS_BUBBLEWRAP[0]
@NEEDS_BUBBLEWRAP[1]
def test_a_sandbox_that_holds_is_named(user: User):
    checked = user.call("sandbox", "check", SANDBOX_BACKEND="bubblewrap")
    if "Permission denied" in checked.stderr or "not permitted" in checked.stderr:
        pytest.skip(checked.stderr)
    assert checked.returncode == 0, checked.stderr
    assert checked.stdout.startswith("bubblewrap: ")
