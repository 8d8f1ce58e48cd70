"""The Docker backend, up to the command lines it runs: a stand-in for the client notes them and answers as it does."""

from pathlib import Path

import pytest

from deep_research.charts.sandbox.docker import Docker
from deep_research.charts.sandbox.process import SandboxLimits, SandboxLost, SandboxProcess, WarmSandbox
from deep_research.errors import SourceError

pytestmark = pytest.mark.processes
# What the client 28.2 says.
NO_ENGINE = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
NO_IMAGE = "Error response from daemon: No such image: deep-research-sandbox:latest"


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a client first on the path that does what the file `does` says; `calls` notes how it was called."""
    program = tmp_path / "docker"
    program.write_text(
        f'#!/bin/sh\nprintf "%s|" "$@" >> {tmp_path}/calls\necho >> {tmp_path}/calls\n. {tmp_path}/does\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return tmp_path


@pytest.mark.parametrize(
    ("does", "problem"),
    [
        ("echo sha256:1", ""),
        (f"echo '{NO_ENGINE}'; exit 1", NO_ENGINE),
        (f"echo '[]'; echo '{NO_IMAGE}' >&2; exit 1", "build-image"),
        ("exit 3", "ended with 3"),
    ],
)
async def test_says_whether_the_engine_answers_and_has_the_image(client: Path, does: str, problem: str):
    (client / "does").write_text(does)
    found = await Docker("deep-research-sandbox").problem()
    assert problem in found
    assert bool(found) == bool(problem)


async def test_says_that_it_is_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert await Docker("x").problem() == "docker is not installed"


def test_the_container_may_do_nothing():
    command = " ".join(Docker("image").start(SandboxLimits(memory_mb=700)).command)
    for flag in (
        "--network none",
        "--read-only",
        "--ipc none",
        "--cap-drop ALL",
        "--security-opt no-new-privileges",
        "--user 65534:65534",
        "--memory 1212m --memory-swap 1212m",
        "--pids-limit 64",
        "--cpus 1",
        "--ulimit fsize=67108864",
        "--ulimit core=0",
        "--tmpfs /tmp:size=256m,nr_inodes=4096,noexec,nosuid,nodev",
        "--pull never",
        "--env HTTPS_PROXY= ",
        "--entrypoint python3 image -I -B -c ",
    ):
        assert flag in command
    assert "--volume" not in command
    assert "--privileged" not in command


async def test_a_container_is_removed_whatever_became_of_its_client(client: Path):
    (client / "does").write_text("echo the engine is full >&2; exit 125")
    start = Docker("image").start(SandboxLimits())
    with pytest.raises(SandboxLost, match="the engine is full"):
        await SandboxProcess.started(start, SandboxLimits(), "")
    name = start.command[list(start.command).index("--name") + 1]
    assert (client / "calls").read_text().splitlines()[-1] == f"rm|--force|{name}|"


async def test_the_image_is_built_from_our_own_file(client: Path):
    (client / "does").write_text(f"cat > {client}/given")
    await Docker("image").build()
    assert (client / "calls").read_text() == "build|--tag|image|-|\n"
    assert "matplotlib" in (client / "given").read_text()
    assert "fonts-noto-cjk" in (client / "given").read_text()
    (client / "does").write_text("echo no space left; exit 1")
    with pytest.raises(SourceError, match="no space left"):
        await Docker("image").build()


async def test_without_any_backend_the_reason_of_each_is_told(client: Path):
    (client / "does").write_text(f"echo '{NO_ENGINE}'; exit 1")

    class Odd:
        name = "odd"

        async def problem(self) -> str:
            return "it is Tuesday"

        def start(self, limits: SandboxLimits):
            raise AssertionError("it was not asked for")

    sandbox = WarmSandbox([Docker("image"), Odd()], SandboxLimits(), "")
    for _ in range(2):
        with pytest.raises(SourceError, match=r"docker: Cannot connect .*; odd: it is Tuesday\). Install bubblewrap"):
            await sandbox.execute("1")
    # It is looked for once.
    assert len((client / "calls").read_text().splitlines()) == 1
    await sandbox.close()
