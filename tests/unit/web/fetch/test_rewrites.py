import pytest

from deep_research.web.fetch.web import text_addresses

RAW = "https://raw.githubusercontent.com"


@pytest.mark.parametrize(
    ("address", "better"),
    [
        (
            "https://arxiv.org/abs/2401.00001v2",
            ("https://arxiv.org/html/2401.00001v2", "https://arxiv.org/pdf/2401.00001v2"),
        ),
        (
            "http://export.arxiv.org/abs/hep-th/9901001",
            ("https://arxiv.org/html/hep-th/9901001", "https://arxiv.org/pdf/hep-th/9901001"),
        ),
        ("https://github.com/ann/pipes/blob/main/docs/a%20b.md", (f"{RAW}/ann/pipes/main/docs/a%20b.md",)),
        (
            "https://github.com/ann/pipes",
            tuple(f"{RAW}/ann/pipes/HEAD/{name}" for name in ("README.md", "README.rst", "readme.md")),
        ),
        (
            "https://www.github.com/ann/pipes.git/",
            tuple(f"{RAW}/ann/pipes/HEAD/{name}" for name in ("README.md", "README.rst", "readme.md")),
        ),
    ],
)
def test_the_text_is_looked_for_where_it_stands(address: str, better: tuple[str, ...]) -> None:
    assert text_addresses(address) == (*better, address)


@pytest.mark.parametrize(
    "address",
    [
        "https://arxiv.org/pdf/2401.00001",
        "https://arxiv.org/list/cs.AI/new",
        "https://arxiv.org/abs/../etc",
        "https://github.com/ann",
        "https://github.com/topics/water",
        "https://github.com/ann/pipes/issues/3",
        "https://github.com/ann/pipes?tab=readme",
        "https://github.com.example.org/ann/pipes",
        "https://example.org/abs/2401.00001",
        "http://[bad",
        "",
    ],
)
def test_other_pages_are_left_as_they_are(address: str) -> None:
    assert text_addresses(address) == (address,)
