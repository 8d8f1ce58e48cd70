"""The result of a run in full: its pictures, its references, and one file of all sources, each as it was asked for."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from deep_research.errors import UsageError
from deep_research.pipeline.result import result_of
from deep_research.report.figure import Image
from deep_research.runner import research
from deep_research.settings import Settings, load_settings
from tests.e2e.harness import User

TEXTS = {
    "en": (
        "What did the Halvorsen dam cost?",
        "The Halvorsen dam cost 84 million euros in total.",
        "The wall of the Halvorsen dam in 2019",
        "References",
    ),
    "zh": ("青峡水坝的造价是多少？", "青峡水坝的造价共计8.4亿元。", "2019年的青峡水坝坝体", "参考文献"),
}

PICTURES = {"en": "Pictures in the Cited Sources", "zh": "所引来源中的图片"}


@pytest.fixture(params=sorted(TEXTS))
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def docs(tmp_path: Path, language: str) -> Path:
    _, answer, caption, _ = TEXTS[language]
    folder = tmp_path / "docs"
    folder.mkdir()
    body = f"<p>{answer}</p><figure><img src='img/wall.jpg'><figcaption>{caption}</figcaption></figure>"
    image = "<img src='https://pictures.test/lake.jpg' alt='Lake'><img src='pixel.gif' width=1 height=1 alt='x'>"
    page = f"<html><head><title>Dam</title></head><body><article>{body}{image}</article></body></html>"
    (folder / "dam.html").write_text(page, encoding="utf-8")
    # Long enough for a file of its own.
    also = {"en": "The Halvorsen dam was opened in 2019.", "zh": "青峡水坝于2019年建成。"}[language]
    (folder / "choir.md").write_text(f"# Choir\n\n{also}\n\n" + "The choir sings on Monday. " * 600, encoding="utf-8")
    return folder


def ask(tmp_path: Path, docs: Path, language: str, **options: Any) -> Any:
    settings = Settings(home=tmp_path / "home", logs=tmp_path / "logs", docs=docs, strategy="local", charts=False)
    return asyncio.run(research(TEXTS[language][0], settings=settings, assume=True, **options))


def test_pictures_of_the_cited_sources_are_named_unless_they_are_not_wanted(
    tmp_path: Path, docs: Path, language: str
) -> None:
    result = ask(tmp_path, docs, language)
    assert result.is_verified
    assert result.images == (
        Image(address="img/wall.jpg", caption=TEXTS[language][2], source="dam.html", number=1),
        Image(address="https://pictures.test/lake.jpg", caption="Lake", source="dam.html", number=1),
    )
    heading, wall, lake = (
        PICTURES[language],
        f"- {TEXTS[language][2]} [1] img/wall.jpg",
        "https://pictures.test/lake.jpg",
    )
    assert f"## {heading}\n\n{wall}\n- Lake [1] {lake}\n" in result.final_report
    without = ask(tmp_path, docs, language, enable_citation_image=False)
    assert without.images == ()
    assert heading not in without.final_report


def test_pictures_lie_beside_the_source_that_is_cited_and_not_where_its_text_was_seen_first(
    tmp_path: Path, docs: Path, language: str
) -> None:
    ask(tmp_path, docs, language)
    (tmp_path / "moved").mkdir()
    docs.rename(tmp_path / "moved" / "archive")
    pictures = ask(tmp_path, tmp_path / "moved", language).images
    assert [(one.address, one.source) for one in pictures] == [
        ("archive/img/wall.jpg", "archive/dam.html"),
        ("https://pictures.test/lake.jpg", "archive/dam.html"),
    ]


def test_the_same_text_with_another_picture_is_shown_with_its_own(tmp_path: Path, docs: Path, language: str) -> None:
    ask(tmp_path, docs, language)
    page = docs / "dam.html"
    changed = page.read_text(encoding="utf-8").replace("pictures.test/lake", "elsewhere.test/sea")
    page.write_text(changed, encoding="utf-8")
    pictures = ask(tmp_path, docs, language).images
    assert [one.address for one in pictures] == ["img/wall.jpg", "https://elsewhere.test/sea.jpg"]


def test_a_report_without_references_is_verified_and_says_where_they_are(
    tmp_path: Path, docs: Path, language: str
) -> None:
    heading, listed = f"## {TEXTS[language][3]}", ask(tmp_path, docs, language)
    assert heading in listed.final_report
    result = ask(tmp_path, docs, language, enable_references=False)
    assert heading not in result.final_report
    assert "dam.html" not in result.final_report
    assert "[1]" in result.final_report
    assert "citations.json" in result.final_report
    assert result.is_verified
    assert result.sources == listed.sources, "the result names them all the same"
    citations = json.loads((Path(result.folder) / "citations.json").read_text(encoding="utf-8"))
    assert citations["1"]["address"] == "dam.html"


def test_all_sources_are_written_to_one_file_where_that_is_asked_for(tmp_path: Path, docs: Path, language: str) -> None:
    plain = ask(tmp_path, docs, language)
    assert not (Path(plain.folder) / "resources.md").exists()
    result = ask(tmp_path, docs, language, enable_file_format_resource=True)
    folder = Path(result.folder)
    text = (folder / "resources.md").read_text(encoding="utf-8")
    assert TEXTS[language][1] in text
    numbered = re.findall(r"^## \[(\d+)\]", text, re.MULTILINE)
    assert numbered == [str(number) for number in range(1, len(result.sources) + 1)]
    # A text of more than 10 KB has a file of its own.
    (segment,) = re.findall(r"^\[(segment_\d+\.md)\]", text, re.MULTILINE)
    assert "The choir sings" in (folder / segment).read_text(encoding="utf-8")
    assert "The choir sings" not in text


def test_a_long_text_has_a_file_of_its_own(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    long = "# Dam\n\nThe Halvorsen dam cost 84 million euros.\n\n" + "The choir sings on Monday. " * 600
    (docs / "dam.md").write_text(long, encoding="utf-8")
    result = ask(tmp_path, docs, "en")
    kept = json.loads((Path(result.folder) / "search_results.json").read_text(encoding="utf-8"))["documents"]
    (entry,) = kept
    assert "text" not in entry
    assert "84 million" in (Path(result.folder) / entry["segment"]).read_text(encoding="utf-8")


def test_the_options_of_the_command_line_and_the_settings_do_the_same(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "dam.md").write_text(
        "# Dam\n\nThe Halvorsen dam cost 84 million euros. ![Wall](wall.png)\n", encoding="utf-8"
    )
    user = User(tmp_path / "user")
    asked = ("ask", TEXTS["en"][0], "--docs", str(docs), "--quiet", "--json", "--assume")

    def shown(*options: str, **extra: str) -> dict[str, Any]:
        ended = user.call(*asked, *options, **extra)
        assert ended.returncode == 0, ended.stderr
        told: dict[str, Any] = json.loads(ended.stdout)
        return told

    image = {"address": "wall.png", "caption": "Wall", "source": "dam.md", "number": 1}
    assert shown()["images"] == [image]
    assert shown("--disable-citation-image")["images"] == []
    assert "## References" not in shown("--disable-references")["finalReport"]
    off = shown(DEEP_RESEARCH_ENABLE_REFERENCES="false", DEEP_RESEARCH_ENABLE_CITATION_IMAGE="false")
    assert off["images"] == []
    assert "## References" not in off["finalReport"]
    assert "## References" in shown("--enable-references", DEEP_RESEARCH_ENABLE_REFERENCES="false")["finalReport"]
    assert not list(user.folder.rglob("resources.md"))
    shown("--enable-file-format-resource")
    assert len(list(user.folder.rglob("resources.md"))) == 1


def test_a_figure_can_still_be_opened_by_its_entry_and_older_runs_still_have_theirs(tmp_path: Path) -> None:
    (tmp_path / "figure-1.png").write_bytes(b"png")
    assert Path(Image(address=str(tmp_path / "figure-1.png"))).read_bytes() == b"png"
    user = User(tmp_path / "user")
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "dam.md").write_text("# Dam\n\nThe Halvorsen dam cost 84 million euros.\n", encoding="utf-8")
    assert user.call("ask", TEXTS["en"][0], "--docs", str(docs), "--quiet", "--assume").returncode == 0
    row = user.only_run()
    assert row.result is not None
    images = {"images": ["/runs/1/figures/figure-1.png"]}
    older = row.model_copy(update={"folder": "/moved/1", "result": row.result | images})
    result = user.with_store(lambda store: result_of(older, store))
    assert result.images == (Image(address="/moved/1/figures/figure-1.png"),)


def test_a_value_that_is_no_choice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEP_RESEARCH_ENABLE_REFERENCES", "perhaps")
    with pytest.raises(UsageError, match="enable_references"):
        load_settings()
