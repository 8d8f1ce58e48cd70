"""The files of a run on a host that does not have its folder: checked, replayed, exported and shown from the store."""

import asyncio
import io
import json
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from deep_research.export.bundle import check_bundle
from deep_research.export.formats import FORMATS, exported, markdown_with_figures, missing_extra
from deep_research.pipeline.folder import folder_of
from deep_research.pipeline.runtime import DeepResearchProcessor
from deep_research.request import ResearchRequest
from deep_research.runner import replay_run, update_run
from deep_research.service.runs import runs
from deep_research.settings import Settings
from deep_research.storage.store.port import RunRow
from deep_research.wiring import build
from tests.e2e.harness import User
from tests.e2e.test_figures import CASES, Drawing
from tests.support.postgres import PostgresServer
from tests.support.server import serving

pytest.importorskip("psycopg_pool", reason="needs the extra postgres")
pytest.importorskip("matplotlib", reason="the extra `charts` is not installed")

CASE = CASES["en"]
MADE = [name for name in FORMATS if not missing_extra(name)]


@dataclass(frozen=True)
class Moved:
    """A run and its update, done on a host that is gone with all its files; what was exported there; another host."""

    run: RunRow
    updated: str
    exports: dict[str, bytes]
    there: Settings

    @property
    def folder(self) -> Path:
        return folder_of(self.there.logs, self.run.id, self.run.created_at)


def _settings(folder: Path, docs: Path, url: str) -> Settings:
    return Settings(
        home=folder / "home",
        logs=folder / "logs",
        docs=docs,
        strategy="local",
        provider="none",
        charts=False,
        database_url=SecretStr(url),
    )


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer) -> Moved:
    folder = tmp_path_factory.mktemp("here")
    docs = folder / "documents"
    docs.mkdir()
    (docs / "plant.md").write_text(CASE.text, encoding="utf-8")
    here = _settings(folder, docs, postgres.new_database())

    async def research() -> Moved:
        processor = DeepResearchProcessor(build(here), machine=Drawing(CASE, "en"))
        row = await processor.process(ResearchRequest(question=CASE.question, clarify="off", docs=str(docs)))
        await processor.adapters.close()
        updated = await update_run(row.id, settings=here)
        contents = await runs.read_contents(row.id, with_sources=True, settings=here)
        target = Path(contents.folder) / "report.md"
        return Moved(row, updated.run, {name: exported(contents, name, target=target) for name in MADE}, here)

    done = asyncio.run(research())
    here.logs.rename(folder / "gone")
    return done


@pytest.fixture
def moved(done: Moved, tmp_path: Path) -> Moved:
    """Return the run as a host sees it that has a home of its own and the database."""
    return replace(done, there=done.there.with_changes(home=tmp_path / "home", logs=tmp_path / "logs"))


async def test_report_is_verified_and_replayed(moved: Moved) -> None:
    checked = await runs.recheck_run(moved.run.id, settings=moved.there)
    assert checked.problems == ()
    replay = await replay_run(moved.run.id, settings=moved.there, machine=Drawing(CASE, "en"))
    assert replay.differences == []
    assert {"report.md", "evidence.jsonl", "verify.json", "figures/figure-1.svg"} <= {*replay.files}


async def test_what_is_changed_by_hand_in_a_restored_folder_is_found(moved: Moved) -> None:
    await runs.recheck_run(moved.run.id, settings=moved.there)
    report = moved.folder / "report.md"
    report.write_text(report.read_text(encoding="utf-8").replace("412", "421"), encoding="utf-8")
    checked = await runs.recheck_run(moved.run.id, settings=moved.there)
    assert "report.md is not as the run wrote it" in checked.problems


async def test_folder_that_was_left_unfinished_is_filled(moved: Moved) -> None:
    moved.folder.mkdir(parents=True)
    (moved.folder / "report.md").write_text("half of it", encoding="utf-8")
    assert (await runs.recheck_run(moved.run.id, settings=moved.there)).problems == ()


async def test_every_format_comes_out_as_on_the_first_host(moved: Moved, tmp_path: Path) -> None:
    contents = await runs.read_contents(moved.run.id, with_sources=True, settings=moved.there)
    assert contents.folder == str(moved.folder)
    for name in MADE:
        raw = exported(contents, name, target=moved.folder / "report.md")
        # A PDF and a Word file name the time at which they were made.
        assert raw == moved.exports[name] or (name in ("pdf", "docx") and len(raw) > 1_000), name
    (tmp_path / "bundle.zip").write_bytes(moved.exports["bundle"])
    assert not check_bundle(tmp_path / "bundle.zip").recheck.problems
    packed = zipfile.ZipFile(io.BytesIO(markdown_with_figures(contents, "report.md"))).namelist()
    assert {"figures/figure-1.png", "figures/figure-1.csv"} <= {*packed}


def test_commands_show_the_run(moved: Moved) -> None:
    assert moved.there.database_url is not None
    env = {
        "DEEP_RESEARCH_DATABASE_URL": moved.there.database_url.get_secret_value(),
        "DEEP_RESEARCH_LOGS": str(moved.there.logs),
    }
    user = User(moved.there.home.parent, env=env)
    for command in (("runs", "show"), ("runs", "report"), ("verify",)):
        ended = user.call(*command, moved.run.id)
        assert ended.returncode == 0, (command, ended.stderr)
    shown = json.loads(user.call("runs", "show", moved.run.id, "--json").stdout)
    assert shown["run"]["folder"] == str(moved.folder)


def test_server_gives_reports_and_changes(moved: Moved) -> None:
    def ask(path: str) -> Any:
        answer = client.http.get(path)
        assert answer.status_code == 200, (path, answer.text)
        return answer

    with serving(moved.there) as client:
        for name in MADE:
            ask(f"/api/runs/{moved.run.id}/report.{name}")
        packed = ask(f"/api/runs/{moved.run.id}/report.md?figures=true").content
        assert "figures/figure-1.csv" in zipfile.ZipFile(io.BytesIO(packed)).namelist()
        assert ask(f"/api/runs/{moved.updated}/changes").json()["before"]["run"] == moved.run.id


async def test_report_names_figures_that_are_there_and_deletion_removes_them(moved: Moved) -> None:
    result = await runs.read_report(moved.run.id, settings=moved.there)
    assert [Path(image.address).is_file() for image in result.images] == [True]
    await runs.delete_run(moved.run.id, settings=moved.there)
    assert not moved.folder.exists()
