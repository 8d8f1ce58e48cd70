"""What our pages tell a newcomer to type works as it stands: in an empty home, where nothing is set."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.analyst import answer_over_the_wire
from tests.support.articles import articles
from tests.support.documented import ROOT, Block, Newcomer, blocks_of
from tests.support.model_server import ModelServer
from tests.support.web_server import LocalWeb

# The modules of extending.md are tried in test_guide.py, each with what it reads.
DOCS = sorted(page for page in (ROOT / "docs").glob("*.md") if page.name != "extending.md")
PAGES = [ROOT / "README.md", *DOCS]
TYPED = {page: [block for block in blocks_of(page.read_text("utf-8")) if block.is_typed] for page in PAGES}


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[Newcomer]:
    with LocalWeb(articles(10), hits_a_search=6) as web, ModelServer(answer_over_the_wire) as models:
        somebody = Newcomer(tmp_path, web, models)
        yield somebody
        somebody.leave()


# Every line is a process that begins cold, and several write a report with a model.
@pytest.mark.long
@pytest.mark.parametrize("page", [page for page, blocks in TYPED.items() if blocks], ids=lambda page: page.name)
def test_every_block_of_a_page_does_what_it_says(page: Path, newcomer: Newcomer) -> None:
    problems = {block.line: newcomer.type(block) for block in TYPED[page] if not block.cannot_be_tried}
    shown = "\n\n".join(f"{page.name}:{line}: {problem}" for line, problem in problems.items() if problem)
    assert not shown, shown


UNTRIED = [(page, block) for page, blocks in TYPED.items() for block in blocks if block.cannot_be_tried]


@pytest.mark.parametrize(("page", "block"), UNTRIED, ids=[f"{page.name}:{block.line}" for page, block in UNTRIED])
def test_what_cannot_be_tried_here_says_what_it_needs(page: Path, block: Block) -> None:
    pytest.skip(block.cannot_be_tried)
