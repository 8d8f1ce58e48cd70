"""A dozen ways in which small models spoil an answer, and what of it can still be used."""

import inspect
import json
import time

import pytest

from deep_research.reasoning.model import answers
from deep_research.reasoning.model.answers import (
    AssessAnswer,
    EditAnswer,
    ExtractAnswer,
    JudgeAnswer,
    ModelAnswer,
    PlanAnswer,
    QueriesAnswer,
    ReflectAnswer,
    read_answer,
)

KINDS = [
    kind
    for _, kind in inspect.getmembers(answers, inspect.isclass)
    if issubclass(kind, ModelAnswer) and kind is not ModelAnswer
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_schema_is_flat_and_has_few_fields(kind: type[ModelAnswer]) -> None:
    schema = kind.schema_for_model()
    fields = schema["properties"]
    assert isinstance(fields, dict)
    assert 1 <= len(fields) <= 17
    assert schema["required"] == list(fields)
    assert schema["additionalProperties"] is False
    for field in fields.values():
        assert isinstance(field, dict)
        assert field["type"] in ("string", "number", "integer", "boolean", "array")
        assert field["type"] != "array" or field["items"] in ({"type": "string"}, {"type": "integer"})
        assert "$ref" not in str(field)


@pytest.mark.parametrize(
    "text",
    [
        '{"sentences": [3], "verdicts": ["supported"], "spans": ["rose by 5 %"], "reasons": ["same"]}',
        '```json\n{"sentences": [3], "verdicts": ["supported"], "spans": ["rose by 5 %"]}\n```',
        'Sure!\n\n{"sentences": [3], "verdicts": ["supported"], "spans": ["rose by 5 %"]}\n\nI hope this helps.',
        "{'sentences': [3], 'verdicts': ['supported'], 'spans': ['rose by 5 %'],}",
        '{"sentences": [3], "verdicts": ["supported"], // decided\n "spans": ["rose by 5 %"]}',
        '{"sentences": [3], "verdicts": ["supported"], "spans": ["rose by 5 %"',
        '[{"sentences": [3], "verdicts": ["supported"], "spans": ["rose by 5 %"]}]',
        '{"answer": {"sentences": ["3"], "verdicts": ["supported"], "spans": ["rose by 5 %"]}}',
        '{"type": "object", "properties": {}}{"sentences": [3], "verdicts": ["supported"], "spans": ["rose by 5 %"]}',
        '{"sentences": "3", "verdicts": "supported", "spans": ["rose by 5 %"], "confidence": 0.9}',
    ],
    ids=["clean", "fence", "chatter", "single-quotes", "comment", "half", "list", "wrapped", "schema-echo", "extra"],
)
def test_a_spoiled_verdict_is_read(text: str) -> None:
    answer, problem = read_answer(JudgeAnswer, text)
    assert problem == ""
    assert answer is not None
    assert (answer.sentences, answer.verdicts, answer.spans) == ([3], ["supported"], ["rose by 5 %"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no JSON"),
        ("The sentence is supported by the passage.", "no JSON"),
        ('{"sentences": [], "verdicts": []}', '"sentences"'),
        ('{"sentences": [1], "verdicts": 5}', '"verdicts"'),
        ('{"spans": ["rose"]}', '"sentences"'),
        ("null null null " * 500, "no JSON"),
        ("# Step: check sentences\n\nJudge each numbered sentence.", "no JSON"),
    ],
    ids=["empty", "prose", "no-sentence", "wrong-type", "missing", "repetition", "echo"],
)
def test_what_cannot_be_read_is_named_so_that_a_model_can_mend_it(text: str, said: str) -> None:
    answer, problem = read_answer(JudgeAnswer, text)
    assert answer is None
    assert said in problem


def test_queries_come_as_list_as_records_and_as_columns() -> None:
    for text in (
        '["heat pump costs", "heat pump noise"]',
        '{"queries": ["heat pump costs", "heat pump noise"]}',
        '{"queries": [{"query": "heat pump costs"}, {"query": "heat pump noise"}]}',
        '[{"query": "heat pump costs", "goal": "a"}, {"query": "heat pump noise", "goal": "b"}]',
        '{"queries": "1. heat pump costs\\n2. heat pump noise"}',
    ):
        answer, _ = read_answer(QueriesAnswer, text)
        assert answer is not None, text
        assert answer.queries == ["heat pump costs", "heat pump noise"], text


def test_a_plan_in_the_nested_form_of_document_002_is_taken_apart() -> None:
    nested = (
        '{"research_title": "T", "sections": [{"title": "费用", "description": "多少", "search_queries": ["a", "b"]},'
        ' {"title": "结果", "description": "", "search_queries": ["c"]}]}'
    )
    plan, _ = read_answer(PlanAnswer, nested)
    assert plan is not None
    assert plan.sections == ["费用", "结果"]
    assert plan.descriptions == ["多少", ""]
    assert (plan.queries, plan.query_sections) == (["a", "b", "c"], [1, 1, 2])


@pytest.mark.parametrize(("given", "share"), [("0.8", 0.8), ('"80 %"', 0.8), ("8", 0.8), ("85", 0.85), ("1", 1.0)])
def test_confidence_is_a_share_however_it_is_spelled(given: str, share: float) -> None:
    answer, _ = read_answer(AssessAnswer, f'{{"confidence": {given}}}')
    assert answer is not None
    assert answer.confidence == pytest.approx(share)


def test_labels_count_as_numbers_and_scores_stay_in_range() -> None:
    chosen, _ = read_answer(ExtractAnswer, '{"passages": ["E3", "passage 4", 5]}')
    assert chosen is not None
    assert chosen.passages == [3, 4, 5]
    scores = '{"coverage": "8/10", "depth": 14, "diversity": 0, "consistency": 5.6, "recency": "7"}'
    judged, _ = read_answer(ReflectAnswer, scores)
    assert judged is not None
    assert (judged.coverage, judged.depth, judged.diversity, judged.consistency, judged.recency) == (8, 10, 1, 6, 7)


def test_nothing_that_a_model_sends_breaks_the_reader() -> None:
    deep = "[" * 20_000
    for text in (deep, '{"verdicts": ' + deep, '{"a":' * 20_000, '{"coverage": ' + "9" * 400 + "}"):
        assert read_answer(JudgeAnswer, text)[0] is None
    huge = '{"coverage": ' + "9" * 400 + ', "depth": 1, "diversity": 1, "consistency": 1, "recency": 1}'
    judged, _ = read_answer(ReflectAnswer, huge)
    assert judged is not None
    assert judged.coverage == 10


@pytest.mark.parametrize(
    "text",
    ["{" * 600, "[{" * 600, '{"' * 16_000, "\n \n" * 40_000, "{} " * 40_000],
    ids=["deep", "deep lists", "quotes", "blanks", "many"],
)
def test_brackets_and_blanks_without_end_are_soon_found_to_be_no_answer(text: str) -> None:
    begin = time.process_time()
    assert read_answer(JudgeAnswer, text)[0] is None
    assert time.process_time() - begin < 5


def test_links_and_terminal_signs_are_no_text() -> None:
    title = "Costs ![x](//evil.example?q=1) [of](javascript:alert) it\x1b[31m\n# More"
    plan, _ = read_answer(PlanAnswer, json.dumps({"title": title, "sections": [title]}))
    assert plan is not None
    assert plan.sections == ["Costs x of it # More"]
    assert "\x1b" not in plan.title


def test_endless_fields_are_cut() -> None:
    plan, _ = read_answer(PlanAnswer, json.dumps({"goal": "x" * 1_000_000, "sections": ["y" * 5_000] * 500}))
    assert plan is not None
    assert len(plan.goal) < 10_000
    assert max(map(len, plan.sections)) < 500


def test_lists_that_go_together_keep_their_places() -> None:
    chosen, _ = read_answer(ExtractAnswer, '{"passages": ["none", 2, 3], "sections": [1, "?", 2]}')
    assert chosen is not None
    assert (chosen.passages, chosen.sections) == ([0, 2, 3], [1, 0, 2])


def test_verdicts_come_as_records_too() -> None:
    records = '[{"sentence": 1, "verdict": "follows"}, {"sentence": 4, "verdict": "partly", "span": "rose"}]'
    answer, _ = read_answer(JudgeAnswer, records)
    assert answer is not None
    assert (answer.sentences, answer.verdicts, answer.spans) == ([1, 4], ["follows", "partly"], ["", "rose"])


def test_a_deleted_sentence_is_no_missing_one() -> None:
    answer, _ = read_answer(EditAnswer, '{"sentences": [2, 5], "texts": ["", "It cost much [E1]."]}')
    assert answer is not None
    assert (answer.sentences, answer.texts) == ([2, 5], ["", "It cost much [E1]."])


def test_a_boolean_is_no_share() -> None:
    assert read_answer(AssessAnswer, '{"confidence": true}')[0] is None
