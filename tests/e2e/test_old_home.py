"""A home made by an earlier commit opens, exports, verifies and updates; its unfinished runs go on.

`homes/8e01414.tar.xz` was made by that commit over four of the example documents: a finished run from the command line,
one that waits for its plan, one killed while it searched; accounts ann and ben, a token, an uploaded collection, a run
over it and a schedule that ran once. Runs name their documents by absolute paths, hence the fixed folder.
"""

import fcntl
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.harness import User
from tests.support.accounts import sign_in
from tests.support.server import Client, serving, settings_for
from tests.support.waiting import wait_until

PACKED = Path(__file__).parent / "homes" / "8e01414.tar.xz"
FOLDER = Path("/tmp/deep-research-8e01414")
FINISHED, WAITING, KILLED, OVER_UPLOADS = "6abe355d", "5a844113", "0cc66afd", "9df8673f"


@pytest.fixture
def user() -> Iterator[User]:
    with (Path(tempfile.gettempdir()) / f"{FOLDER.name}-{os.getuid()}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(FOLDER, ignore_errors=True)
        if FOLDER.exists():
            pytest.skip(f"{FOLDER} belongs to somebody else")
        FOLDER.mkdir()
        with tarfile.open(PACKED) as packed:
            packed.extractall(FOLDER, filter="data")
        yield User(FOLDER, env={"DEEP_RESEARCH_LOGS": str(FOLDER / "logs")})
        shutil.rmtree(FOLDER)


@pytest.mark.parametrize("run", [FINISHED, OVER_UPLOADS])
def test_a_finished_run_is_shown_verified_exported_and_updated(user: User, run: str) -> None:
    listed = user.call("runs", "list").stdout
    assert [line.split()[3] for line in listed.splitlines()] == ["running", "done", "done", "waiting", "done"]
    shown = user.call("runs", "show", run)
    assert "Status: done" in shown.stdout
    verified = user.call("verify", run)
    assert (verified.returncode, verified.stderr) == (0, ""), verified.stdout
    for name in ("report.html", "report.docx", "report.md", "report.json"):
        exported = user.call("export", run, "-o", name)
        assert exported.returncode == 0, exported.stderr
        assert (FOLDER / name).stat().st_size > 1_000
    updated = user.call("update", run, "--quiet")
    assert updated.returncode == 0, updated.stderr
    assert "## References" in updated.stdout


def test_unfinished_runs_go_on(user: User) -> None:
    answered = user.call("runs", "answer", WAITING, "approve")
    assert answered.returncode == 0, answered.stderr
    assert "tariff-sheet-2026.txt" in answered.stdout
    resumed = user.call("runs", "resume", KILLED)
    assert resumed.returncode == 0, resumed.stderr
    assert "measured-performance-2025.md" in resumed.stdout


def test_accounts_uploads_and_schedules_are_there(user: User) -> None:
    with serving(settings_for(FOLDER)) as client:
        assert sign_in(client, "ann", "correct horse battery").status_code == 303
        collections = client.http.get("/api/collections").json()["collections"]
        (collection,) = (each for each in collections if not each["is_read_only"])
        assert (collection["name"], collection["files"]) == ("Harbour papers", 2)
        # What another version has read is read again, in the background.
        wait_until(lambda: _search(client, collection["id"], "coefficient of performance"))
        (schedule,) = client.http.get("/api/schedules").json()["schedules"]
        assert schedule["every"] == "7d"
        assert client.run(schedule["done_run"])["status"] == "done"
        assert client.http.get(f"/runs/{schedule['done_run']}").status_code == 200
        token = (FOLDER / "token").read_text().strip()
    with serving(settings_for(FOLDER)) as client:
        listed = client.http.get("/api/runs", headers={"Authorization": f"Bearer {token}"})
        assert listed.status_code == 200
        # Those of the page; those of the command line belong to nobody.
        assert len(listed.json()["runs"]) == 2


def _search(client: Client, collection: str, text: str) -> bool:
    return bool(client.http.get(f"/api/collections/{collection}/search", params={"q": text}).json()["passages"])
