"""Blocks of Markdown: CommonMark's, and the items and rows that writers use beside it."""

import pytest

from deep_research.text.markdown import Block, blocks_of


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("## Costs ##\nIt fell.\nYes.", [Block("heading", 1, "Costs", "##"), Block("prose", 2, "It fell.\nYes.")]),
        ("- a\n  b\nc\n1. d", [Block("item", 1, "a\nb\nc", "-"), Block("item", 4, "d", "1.")]),
        ("> quoted\n> - item", [Block("prose", 1, "quoted"), Block("item", 2, "item", "-")]),
        ("Lead:\n• a\n2. b\n3、c", [
            Block("prose", 1, "Lead:"), Block("item", 2, "a", "•"), Block("item", 3, "b", "2."),
            Block("item", 4, "c", "3、"),
        ]),
        ("2024. It fell.", [Block("prose", 1, "2024. It fell.")]),
        ("a\n| b | c |\n| 1 | 2 |\nd", [
            Block("prose", 1, "a"), Block("table", 2, "| b | c |\n| 1 | 2 |"), Block("prose", 4, "d"),
        ]),
        ("a\n---\n<!-- b\nc -->\n\n```\n# d\n```", [
            Block("prose", 1, "a"), Block("rule", 2, ""), Block("rule", 3, "<!-- b\nc -->\n"),
            Block("code", 6, "# d\n"),
        ]),
        ("\ufeffa\n\n    # b\n\n<div>\nc", [
            Block("prose", 1, "a"), Block("prose", 3, "# b"), Block("prose", 5, "<div>\nc"),
        ]),
        (">" * 30 + " deep", [Block("prose", 1, "deep")]),
        ("", []),
    ],
)  # fmt: skip
def test_a_text_is_read_in_blocks(text, blocks):
    assert list(blocks_of(text)) == blocks
    assert [block.marked for block in blocks if block.mark] == [
        f"{each.mark} {each.text}" for each in blocks if each.mark
    ]
