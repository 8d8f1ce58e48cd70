"""A revision may leave out and doubt; it may add nothing, deny nothing and take no doubt away."""

import pytest

from deep_research.verify.revision import only_weakens


@pytest.mark.parametrize(
    ("revised", "original"),
    [
        ("Costs rose by 5 million euros in 2024.", "Costs rose sharply by 5 million euros in 2024 and doubled."),
        ("Costs may have risen.", "Costs have risen."),
        ("The plant may close.", "The plant may close and 200 people lose their jobs."),
        ("According to one source, the plant closed.", "The plant closed."),
        ("The plant reportedly cost 5 million euros.", "The plant cost 5 million euros."),
        ("In 2025 it closed.", "On 31 December 2025 it closed."),
        ("Costs did not rise.", "Costs did not rise, and nobody lost a job."),
        ("成本上升。", "成本大幅上升。"),
        ("成本可能上升。", "成本大幅上升。"),
        ("據該來源，成本上升。", "成本大幅上升。"),
        ("据报道，成本上升了5%左右。", "成本上升了5%，为全国最高。"),
        ("工程在一定程度上成功。", "工程完全成功。"),
    ],
)
def test_less_or_more_doubtful_is_allowed(revised, original):
    assert only_weakens(revised, original)


@pytest.mark.parametrize(
    ("revised", "original"),
    [
        ("", "Costs rose."),
        ("May.", "Costs rose."),
        ("Costs fell.", "Costs rose."),
        ("Costs rose in Norway.", "Costs rose."),
        ("Costs rose by 5 euros.", "Costs rose by 5 million euros."),
        ("Costs rose by two euros.", "Costs rose by two million euros."),
        ("It closed on 31 December 2025.", "It closed in 2025."),
        ("The plant did close.", "The plant did not close."),
        ("The plant did not close.", "The plant did close."),
        ("The plant closed.", "The plant may have closed."),
        ("The plant closed only in 2024.", "The plant closed in 2024."),
        ("The dog bit the man.", "The man bit the dog."),
        ("成本不会上升。", "成本会上升。"),
        ("成本会上升。", "成本不会上升。"),
        ("成本上升了50%。", "成本上升了5%。"),
        ("成本上升了5亿元。", "成本上升了5亿元左右。"),
        ("成本超过5亿元。", "成本为5亿元。"),
    ],
)
def test_anything_else_is_refused(revised, original):
    assert not only_weakens(revised, original)
