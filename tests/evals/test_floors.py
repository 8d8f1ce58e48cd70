"""Measured quality against `evals/floors.json`; the sets are not part of the project and may be absent.

Of the large sets these tests take a sample, with floors of its own; `make evals` takes all.
"""

from types import ModuleType

import pytest

from evals import (
    answers,
    article_extraction,
    clarify_gate,
    cmrc,
    contradictions,
    drbench,
    hotpotqa,
    injection,
    scifact_claims,
    shared,
    wcxb,
    wice,
)

pytestmark = pytest.mark.long


def needs(name: str) -> pytest.MarkDecorator:
    folder = shared.DEFAULT_DATA / name
    return pytest.mark.skipif(not folder.exists(), reason=f"there is no {folder}; python -m evals says how to get it")


@needs("drbench")
def test_drbench_on_every_fifth_task() -> None:
    tasks = sorted(path for path in (shared.DEFAULT_DATA / "drbench").iterdir() if path.is_dir())[::5]
    figures = drbench.totals(drbench.run_tasks(tasks, jobs=1))
    assert shared.missed_floors("drbench, every fifth task", figures) == [], figures


def reaches_floors_of_sample(evaluation: ModuleType, every: int) -> bool:
    name = evaluation.__name__.removeprefix("evals.")
    assert set(shared.floors()[shared.sample_name(name, every)]) == set(shared.floors()[name])
    missed: int = evaluation.main(["--data", str(shared.DEFAULT_DATA), "--every", str(every)])
    return missed == 0


@needs("hotpotqa250")
def test_hotpotqa_on_every_third_question() -> None:
    assert reaches_floors_of_sample(hotpotqa, 3)


@needs("cmrc2018_zh")
def test_cmrc_on_every_fifth_question() -> None:
    assert reaches_floors_of_sample(cmrc, 5)


@needs("scifact_claims_train")
def test_scifact_claims() -> None:
    assert scifact_claims.main(["--data", str(shared.DEFAULT_DATA)]) == 0


@needs("wice_dev")
def test_wice_on_every_third_claim() -> None:
    assert reaches_floors_of_sample(wice, 3)


@needs("article_extraction")
def test_article_extraction_on_every_third_page() -> None:
    assert reaches_floors_of_sample(article_extraction, 3)


@needs("wcxb_dev")
def test_wcxb_on_every_fifth_page() -> None:
    assert reaches_floors_of_sample(wcxb, 5)


@needs("clarify_gate")
def test_clarify_gate() -> None:
    assert clarify_gate.main(["--data", str(shared.DEFAULT_DATA)]) == 0


@needs("hostile")
def test_injection() -> None:
    assert injection.main(["--data", str(shared.DEFAULT_DATA)]) == 0


def test_answers() -> None:
    assert answers.main([]) == 0


def test_answers_of_the_opened_set() -> None:
    assert answers.main(["--opened"]) == 0


def test_contradictions() -> None:
    assert contradictions.main() == 0


def test_a_missed_floor_is_noticed() -> None:
    good = {"insight recall": 0.9, "distractor rate": 0.0, "placement": 1.0, "most source sentences": 60.0}
    assert shared.missed_floors("drbench", good) == []
    assert shared.missed_floors("drbench", good | {"insight recall": 0.1}) == ["insight recall"]
    assert shared.missed_floors("drbench", good | {"most source sentences": 61.0}) == ["most source sentences"]
    assert "placement" in shared.missed_floors("drbench", {"insight recall": 1.0})
