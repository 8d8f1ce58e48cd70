"""A user's own rules for the intake: what they change about a question, and how a bad file is refused."""

import re
from pathlib import Path

import pytest

from deep_research.errors import ConfigurationError
from deep_research.reasoning.rules.question.clarifier import assess
from deep_research.reasoning.rules.question.intake_rules import (
    ASKED_KINDS,
    NO_RULES,
    focus_by_rule,
    load_rules,
    spelled_out,
)
from deep_research.reasoning.values import Assessment, Exchange, Inquiry
from deep_research.request import FocusRule, IntakeRules
from deep_research.text.messages.language import report_language
from deep_research.text.messages.words import words_in

PAGE = Path(__file__).parents[3] / "docs" / "intake.md"


def judged(question: str, rules: IntakeRules, **given) -> Assessment:
    return assess(Inquiry(question=question, language=report_language(question), rules=rules, **given))


def saved(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "rules.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_documented_example_can_be_loaded_and_does_what_the_page_says(tmp_path):
    example = re.search(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert example
    rules = load_rules(saved(tmp_path, example.group(1)))
    assert rules.default_focus
    assert judged("Why is our product late?", rules).next_action == "NEED_CLARIFICATION"
    assert judged("CV in radiology", rules).refined_query == "CV (computer vision) in radiology"
    assert focus_by_rule(rules, "KRAS G12C inhibitors") == focus_by_rule(rules, "KRAS G12C 抑制劑") != ()
    asked = judged("癌症", rules).clarification
    assert asked is not None
    assert asked.question == "“癌症”的哪一方面与本项目有关？"


@pytest.mark.parametrize("kind", ASKED_KINDS)
def test_page_explains_every_kind_of_question(kind):
    assert f"| `{kind}` |" in PAGE.read_text(encoding="utf-8")


def test_no_file_means_no_rules():
    assert load_rules(None) == NO_RULES


@pytest.mark.parametrize("mode", ["auto", "strict"])
def test_own_vague_word_is_asked_about_in_either_script(mode):
    rules = IntakeRules(vague_words=("老地方", "the usual vendor"))
    for question in (
        "老地方去年改造工程的总成本与实际效果如何评价才算合理",
        "Cost overruns at the usual vendor since 2019",
    ):
        assert judged(question, NO_RULES).is_clear
        assert judged(question, rules, clarify=mode).next_action == "NEED_CLARIFICATION"
    assert judged("The usual vendors of Norwegian salmon and their prices", rules).is_clear, "a part of another word"


def test_answer_takes_the_place_of_an_own_vague_word():
    rules = IntakeRules(vague_words=("the usual vendor",))
    first = judged("Cost overruns at the usual vendor", rules)
    assert first.clarification is not None
    exchange = Exchange(question=first.clarification.question, answer="Acme Corp")
    told = judged("Cost overruns at the usual vendor", rules, exchanges=(exchange,))
    assert told.is_clear
    assert told.refined_query == "Cost overruns at Acme Corp"


def test_own_term_is_neither_looked_up_nor_asked_about():
    assert judged("XYZ123 基因", NO_RULES).next_action == "VERIFY_TOPIC"
    assert judged("XYZ123 基因", IntakeRules(terms={"xyz123": ""})).next_action == "START_RESEARCH"
    assert judged("cv", NO_RULES).next_action == "NEED_CLARIFICATION"
    known = judged("cv", IntakeRules(terms={"CV": "computer vision"}))
    assert known.is_clear
    assert any("computer vision" in line for line in known.assumptions)


def test_own_abbreviation_is_known_to_strict_rules_too():
    question = "Adoption of AI among rural hospitals in Kenya"
    assert not judged(question, NO_RULES, clarify="strict").is_clear
    assert judged(question, IntakeRules(terms={"AI": ""}), clarify="strict").is_clear


def test_term_inside_a_word_is_not_spelled_out():
    rules = IntakeRules(terms={"AR": "augmented reality"})
    assert spelled_out("How do arteries harden?", rules, words_in("en")).text == "How do arteries harden?"


def test_own_question_and_options_replace_ours():
    rules = IntakeRules(
        questions={"aspect": "Which part of {topic} is for us?"}, options={"aspect": ("Price of {topic}", "Supply")}
    )
    asked = judged("cancer", rules).clarification
    assert asked is not None
    assert (asked.question, asked.options) == ("Which part of cancer is for us?", ("Price of cancer", "Supply"))
    assert asked.missing_info


def test_wording_of_one_language_leaves_the_others_alone():
    rules = IntakeRules(questions={"aspect": {"zh-Hant": "「{topic}」的哪一部分？"}})
    assert judged("癌症治療", rules).clarification_question == "「癌症治療」的哪一部分？"
    assert judged("cancer", rules).clarification_question == judged("cancer", NO_RULES).clarification_question


def test_answer_to_an_own_question_about_a_term_takes_the_terms_place():
    rules = IntakeRules(questions={"term": "What is {topic}?"})
    exchange = Exchange(question="What is XYZ123?", answer="TP53")
    assert judged("XYZ123 基因", rules, unknown_terms=("XYZ123",), exchanges=(exchange,)).refined_query == "TP53 基因"


def test_first_pattern_that_fits_gives_the_focuses():
    rules = IntakeRules(
        focus=(FocusRule(pattern="抑制剂|inhibitor", focus=("靶点",)), FocusRule(pattern="KRAS", focus=("b",)))
    )
    assert focus_by_rule(rules, "KRAS 抑制劑") == ("靶点",)
    assert focus_by_rule(rules, "kras") == ("b",)
    assert focus_by_rule(rules, "other") == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("vague_words = 'it'", "vague_words: "),
        ("colour = 'red'", "colour: there is no such key; choose from vague_words"),
        ("[questions]\naspects = 'x'", "questions.aspects: there is no such kind of question; choose from topic"),
        ("[questions]\naspect = 'About {word}?'", "questions.aspect: {word} is not known"),
        ("[questions]\naspect = 'About {topic?'", "questions.aspect: its braces"),
        ("[questions]\naspect = ''", "questions.aspect: give texts"),
        ("[questions.aspect]\nxx = 'Was?'", "questions.aspect"),
        ("[options]\naspect = []", "options.aspect: give texts"),
        ("[[focus]]\npattern = '('\nfocus = ['a']", "focus 1: pattern: it is no regular expression"),
        ("[[focus]]\npattern = ''\nfocus = ['a']", "focus 1: pattern: it is empty"),
        ("[[focus]]\npattern = 'a'\nfocus = []", "focus 1: focus: give 1 to 5 focuses"),
        ("[[focus]]\npattern = 'a'", "focus.0.focus: field required"),
        ("default_focus = ['a', 'b', 'c', 'd', 'e', 'f']", "default_focus: give 1 to 5 focuses"),
        ("[terms]\n'' = 'x'", "terms: one of its words is empty"),
        ("vague_words = [", "not valid TOML"),
    ],
)
def test_bad_file_is_refused_with_key_and_fix(tmp_path, text, said):
    path = saved(tmp_path, text)
    with pytest.raises(ConfigurationError) as refused:
        load_rules(path)
    assert said in str(refused.value)
    assert str(path) in str(refused.value)


def test_file_that_is_missing_or_not_text_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_rules(tmp_path / "nowhere.toml")
    (tmp_path / "gbk.toml").write_bytes("vague_words = ['那个']".encode("gbk"))
    with pytest.raises(ConfigurationError, match="UTF-8"):
        load_rules(tmp_path / "gbk.toml")
