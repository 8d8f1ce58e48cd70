"""A report is brought up to date: every planted change of its sources is found and named, and nothing else is."""

import asyncio
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from deep_research import research
from deep_research.runner import replay_run, update_run
from tests.e2e.harness import User, assert_explained
from tests.e2e.test_model_faults import PAGES, QUESTION
from tests.e2e.test_web import QUESTIONS, _settings
from tests.support.analyst import act_of, answer_over_the_wire
from tests.support.articles import articles
from tests.support.longer import first_of
from tests.support.model_dialects import Answer as ModelAnswer
from tests.support.model_dialects import Asked
from tests.support.model_server import ModelServer
from tests.support.search_server import Answer
from tests.support.web_server import LocalWeb

ENGLISH = {
    "costs.md": """# Costs of the Halden harbour retrofit

The harbour retrofit of Halden cost €146.2 million in total by 31 December 2025.
The budget of the harbour retrofit was €118.0 million when the council of Halden approved it in June 2021.

The harbour retrofit of Halden was paid with a green bond of €90 million. The bond of the harbour retrofit has a rate
of 3.1 per cent and is repaid by 2046.

| Part of the harbour retrofit | Cost (€ million) |
| --- | --- |
| Heat pumps | 61.4 |
| Seawater tunnel | 27.8 |
| Storage tank | 9.6 |
| Pipes | 31.5 |
""",
    "results.txt": """Results of the Halden harbour retrofit

The harbour retrofit of Halden cut emissions by 61 per cent between 2020 and 2025. Network losses of the harbour \
retrofit fell to 13.2 per cent in 2025.

Residents near the harbour of Halden made 14 noise complaints in 2025. The harbour retrofit of Halden created 37 \
permanent jobs in the city.

The harbour retrofit of Halden supplies 18,400 households with heat. The pump hall of the harbour retrofit opened on \
3 May 2024.
""",
    "courier.html": "<html><head><title>Harbour retrofit: the price</title></head><body><article>"
    "<h1>Harbour retrofit: the price</h1><p>The heat price of the harbour retrofit of Halden fell to €107.90 on "
    "1 January 2026. The tenants of Halden say that the relief of the harbour retrofit is too small.</p>"
    '<p>The operator of the harbour retrofit says "the worst is over" for the people of Halden.</p>'
    "</article></body></html>",
    "opinion.md": "# Opinion\n\nThe Ratepayers of Halden put the cost of the harbour retrofit at €163.8 million.\n",
    "survey.md": "# Survey on the harbour retrofit\n\nIn the survey on the harbour retrofit 58 per cent of residents "
    "of Halden were satisfied with the result. The survey asked 1,204 residents about the harbour retrofit.\n",
}
CHINESE = {
    "预算.md": """# 青岚市港区改造的费用

青岚市港区改造总共花费18.6亿元，于2025年12月31日完成决算。市议会在2021年批准的港区改造预算为15.2亿元。

青岚市港区改造的资金来自绿色债券，利率为3.1%。

| 港区改造项目 | 费用（亿元） |
| --- | --- |
| 热泵 | 7.4 |
| 海水隧道 | 3.8 |
| 储热罐 | 1.6 |
""",
    "效果.txt": """青岚市港区改造的效果

青岚市港区改造使排放量在2020年至2025年间下降了61%。港区改造的管网损失在2025年降到13.2%。

青岚市港区改造新增了37个长期岗位。港区改造为18400户居民供热。

青岚市港区改造的泵房于2024年5月3日启用。
""",
    "评论.md": "# 评论\n\n纳税人协会认为青岚市港区改造的费用高达21.3亿元。\n",
    "調查.md": "# 調查\n\n青嵐市港區改造的調查顯示58%的居民對改造效果表示滿意。\n",
}


@dataclass
class Planted:
    """A folder, a question about it, and what is done to the folder: text before and after, files, and mere form."""

    question: str
    files: dict[str, str]
    edits: list[tuple[str, str, str]]
    added: dict[str, str]
    removed: list[str]
    renamed: dict[str, str]
    form: list[tuple[str, str, str]] = field(default_factory=list)


CASES = {
    "english": Planted(
        "What did the harbour retrofit of Halden cost, and what did it achieve?",
        ENGLISH,
        [
            ("costs.md", "cost €146.2 million", "cost €149.7 million"),
            ("costs.md", "in June 2021", "in July 2021"),
            ("costs.md", "| Seawater tunnel | 27.8 |", "| Seawater tunnel | 29.1 |"),
            ("costs.md", "| Storage tank | 9.6 |\n", ""),
            ("costs.md", "| Pipes | 31.5 |\n", "| Pipes | 31.5 |\n| Noise barriers | 4.3 |\n"),
            ("results.txt", " Network losses of the harbour retrofit fell to 13.2 per cent in 2025.", ""),
            ("results.txt", "created 37 permanent jobs", "created 41 permanent jobs"),
            (
                "results.txt",
                "supplies 18,400 households with heat.",
                "supplies 18,400 households with heat. The harbour retrofit of Halden won a prize in Oslo in 2026.",
            ),
            ("courier.html", "on 1 January 2026", "on 1 March 2026"),
        ],
        {
            "audit.md": "# Audit\n\nThe auditors of Halden found that the harbour retrofit cost €7.9 million more "
            "than it should have.\n"
        },
        ["opinion.md"],
        {"survey.md": "survey-2025.md"},
        [
            (
                "costs.md",
                "The bond of the harbour retrofit has a rate\nof 3.1 per cent and is repaid by 2046.",
                "The bond of the harbour\nretrofit has a rate of 3.1 per cent and is repaid\nby 2046.",
            ),
            ("courier.html", '"the worst is over"', "“the worst is over”"),
            ("courier.html", "<p>The operator", "\n\n  <p class='x'>The <b>operator</b>"),
        ],
    ),
    "chinese": Planted(
        "青岚市港区改造花了多少钱，效果如何？",
        CHINESE,
        [
            ("预算.md", "总共花费18.6亿元", "总共花费19.2亿元"),
            ("预算.md", "市议会在2021年批准", "市议会在2022年批准"),
            ("预算.md", "| 海水隧道 | 3.8 |", "| 海水隧道 | 4.1 |"),
            ("效果.txt", "港区改造的管网损失在2025年降到13.2%。", ""),
            ("效果.txt", "新增了37个长期岗位", "新增了29个长期岗位"),
            ("效果.txt", "为18400户居民供热。", "为18400户居民供热。青岚市港区改造在2026年获得了国家奖项。"),
        ],
        {"审计.md": "# 审计\n\n审计人员发现青岚市港区改造多花了0.9亿元。\n"},
        ["评论.md"],
        {"調查.md": "調查報告.md"},
        [("效果.txt", "青岚市港区改造的泵房于2024年", "青岚市港区改造的\n泵房于2024年")],
    ),
}


def _write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def _changed(folder: Path, planted: Planted) -> None:
    for name, before, after in (*planted.edits, *planted.form):
        text = (folder / name).read_text(encoding="utf-8")
        assert text.count(before) == 1, (name, before)
        (folder / name).write_text(text.replace(before, after), encoding="utf-8")
    # A paragraph that stands elsewhere is no change, nor is the end of a line.
    moved = folder / next(name for name in planted.files if name.endswith(".txt"))
    title, *paragraphs = moved.read_text(encoding="utf-8").strip().split("\n\n")
    moved.write_bytes("\r\n\r\n".join([title, *paragraphs[1:], paragraphs[0]]).encode())
    _write(folder, planted.added)
    for name in planted.removed:
        (folder / name).unlink()
    for name, now in planted.renamed.items():
        (folder / name).rename(folder / now)


@dataclass
class Updated:
    planted: Planted
    user: User
    old: str
    new: str
    changes: dict[str, Any]
    said: str

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [claim for claim in self.changes["claims"] if claim["kind"] == kind]


@pytest.fixture(scope="module", params=first_of(sorted(CASES)))
def updated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Updated:
    user, planted = User(tmp_path_factory.mktemp(request.param)), CASES[request.param]
    docs = user.folder / "docs"
    _write(docs, planted.files)
    asked = user.call("ask", planted.question, "--docs", str(docs))
    assert asked.returncode == 0, asked.stderr
    old = user.only_run()
    _changed(docs, planted)
    ended = user.call("update", old.id)
    assert ended.returncode == 0, ended.stderr
    new, _ = user.with_store(lambda store: store.list_runs(limit=2))
    changes = json.loads((Path(new.folder) / "changes.json").read_text(encoding="utf-8"))
    return Updated(planted, user, old.id, new.id, changes, ended.stdout)


def test_every_edit_of_the_sources_is_found_and_nothing_else(updated: Updated) -> None:
    found = [edit for source in updated.changes["sources"] for edit in source["edits"]]
    for _, before, after in updated.planted.edits:
        gone, come = (_own(one, other) for one, other in ((before, after), (after, before)))
        fitting = [edit for edit in found if gone in _bare(edit["before"]) and come in _bare(edit["after"])]
        assert fitting, (before, after, found)
    assert len(found) == len(updated.planted.edits), found


def _bare(text: str) -> str:
    return "".join(text.split()).strip("|")


def _own(one: str, other: str) -> str:
    """Return what is not in the other text; nothing where it holds all of it."""
    bare, others = _bare(one), _bare(other)
    return bare.replace(others, "").strip("|") if others and others in bare else "" if bare in others else bare


def test_files_that_came_went_or_have_another_name_are_told_apart(updated: Updated) -> None:
    kinds = {source["address"]: source["kind"] for source in updated.changes["sources"]}
    planted = updated.planted
    assert {name for name, kind in kinds.items() if kind == "new"} == {*planted.added}
    assert {name for name, kind in kinds.items() if kind == "gone"} == {*planted.removed}
    renamed = {source["was"]: source["address"] for source in updated.changes["sources"] if source["kind"] == "renamed"}
    assert renamed == planted.renamed
    assert {name for name, kind in kinds.items() if kind == "changed"} == {name for name, _, _ in planted.edits}


def test_claims_are_changed_or_gone_where_their_passage_is(updated: Updated) -> None:
    texts = {_bare(before): _bare(after) for _, before, after in updated.planted.edits}
    for claim in updated.of("changed"):
        assert claim["edits"]
        assert all(edit["before"] != edit["after"] for edit in claim["edits"])
    touched = [claim["before"] for kind in ("changed", "gone") for claim in updated.of(kind)]
    untouched = [claim["before"] for claim in updated.of("still")]
    assert len(touched) >= 4
    assert untouched
    removed = [_bare(updated.planted.files[name]) for name in updated.planted.removed]
    for text in touched:
        is_edited = any(_shares(text, before) for before in texts)
        assert is_edited or any(_bare(text) in file for file in removed), text
    assert not updated.of("unchecked")


def _shares(claim: str, edited: str) -> bool:
    cells = [cell for cell in edited.split("|") if cell]
    return _bare(edited) in _bare(claim) or all(cell in _bare(claim) for cell in cells)


def test_what_vanished_is_gone_and_never_false(updated: Updated) -> None:
    (name,) = updated.planted.removed
    gone = [claim for claim in updated.of("gone") if name in claim["sources"]]
    assert gone
    assert all(name in claim["reason"] for claim in gone)


def test_what_was_taken_out_of_a_source_is_gone(updated: Updated) -> None:
    taken = [before for _, before, after in updated.planted.edits if not after]
    gone = [claim["before"] for claim in updated.of("gone") if not claim["reason"]]
    assert len(gone) == len(taken)
    assert all(any(_shares(claim, _bare(before)) for before in taken) for claim in gone)


def test_what_is_new_rests_on_new_text(updated: Updated) -> None:
    fresh = [_bare(text) for text in updated.planted.added.values()]
    fresh += [_bare(after) for _, _, after in updated.planted.edits]
    assert updated.of("new")
    for claim in updated.of("new"):
        assert any(_bare(claim["after"]).strip("。.") in text or _shares(claim["after"], text) for text in fresh), claim


def test_the_update_begins_with_its_summary_and_the_report_points_to_it(updated: Updated) -> None:
    lines = updated.said.splitlines()
    assert updated.old[:8] in lines[2]
    assert updated.new[:8] in lines[2]
    report = updated.said.partition("\n# ")[2]
    assert "changes.md" in report
    assert "**" in updated.said


def test_both_versions_stay_and_can_be_compared(updated: Updated) -> None:
    user = updated.user
    shown = user.call("diff", updated.old, updated.new)
    assert shown.returncode == 0
    again = user.call("diff", updated.old, updated.new, "--json")
    changes = json.loads(again.stdout)["changes"]
    assert not changes["is_update"]
    assert {claim["kind"] for claim in changes["claims"]} >= {"still", "changed"}
    nothing = json.loads(user.call("diff", updated.old, updated.old, "--json").stdout)["changes"]
    assert {claim["kind"] for claim in nothing["claims"]} == {"still"}
    assert {source["kind"] for source in nothing["sources"]} == {"same"}


def test_an_update_replays_when_folder_and_earlier_run_are_gone(updated: Updated) -> None:
    user = updated.user
    shutil.move(user.folder / "docs", user.folder / "elsewhere")
    try:
        ended = user.call("replay", updated.new)
        assert ended.returncode == 0, ended.stdout
        assert "Identical" in ended.stdout
    finally:
        shutil.move(user.folder / "elsewhere", user.folder / "docs")


def test_an_update_of_what_has_not_changed_says_so(tmp_path: Path) -> None:
    user, docs = User(tmp_path), tmp_path / "docs"
    _write(docs, ENGLISH)
    assert user.call("ask", CASES["english"].question, "--docs", str(docs)).returncode == 0
    ended = user.call("update", user.only_run().id)
    assert "Nothing has changed." in ended.stdout


@pytest.mark.long
@pytest.mark.parametrize("language", first_of(["en", "zh-Hant"]))
def test_a_page_that_vanished_is_gone_and_one_that_is_down_is_not_judged(language: Any, tmp_path: Path) -> None:
    with LocalWeb(articles(12, language=language), hits_a_search=8) as web:
        settings = _settings(web, tmp_path)
        first = asyncio.run(research(QUESTIONS[language], settings=settings))
        cited = [str(source["address"]) for source in first.sources[:2]]
        lost, down = (address.removeprefix("http://").partition(":")[0] for address in cited)
        web.faults[lost] = Answer("<title>Gone</title>", status=404)
        web.faults[down] = Answer("<title>Down</title>", status=500)
        second = asyncio.run(update_run(first.run, settings=settings))
        assert second.is_verified
    changes = json.loads((Path(second.folder) / "changes.json").read_text(encoding="utf-8"))
    kinds = {source["address"]: source["kind"] for source in changes["sources"]}
    assert (kinds[cited[0]], kinds[cited[1]]) == ("gone", "unchecked")
    by_source = {
        address: {claim["kind"] for claim in changes["claims"] if claim["sources"] == [address]} for address in cited
    }
    assert by_source[cited[0]] <= {"gone"}
    assert by_source[cited[1]] <= {"unchecked"}
    assert any(by_source.values())
    others = {claim["kind"] for claim in changes["claims"] if not {*claim["sources"]} & {*cited}}
    assert others <= {"still", "new"}
    replayed = asyncio.run(replay_run(second.run, settings=settings))
    assert not replayed.differences


def test_what_cannot_be_brought_up_to_date_is_said(tmp_path: Path) -> None:
    user = User(tmp_path)
    assert "There is no run" in assert_explained(user.call("update", "abcdef12"), 64)
    assert_explained(user.ask("asking"), 2)
    assert "no report" in assert_explained(user.call("update", user.only_run().id), 64)


def test_with_a_model_the_plan_stands_and_the_comparison_is_the_same(tmp_path: Path) -> None:
    user, docs, acts = User(tmp_path / "user"), tmp_path / "docs", list[str]()

    def script(asked: Asked) -> ModelAnswer:
        acts.append(act_of(asked.text))
        return answer_over_the_wire(asked)

    _write(docs, PAGES)
    with ModelServer(script) as server:
        env = {
            "DEEP_RESEARCH_OPENAI_COMPATIBLE_ADDRESS": server.address_of("openai-compatible"),
            "DEEP_RESEARCH_MAX_ITERATIONS": "1",
        }
        flags = ("--docs", str(docs), "-p", "openai-compatible:test")
        assert user.call("ask", QUESTION, *flags, **env).returncode == 0
        old = user.only_run()
        assert {"assess", "plan"} <= {*acts}
        acts.clear()
        costs = docs / "costs.md"
        costs.write_text(costs.read_text(encoding="utf-8").replace("€146.2", "€151.9"), encoding="utf-8")
        ended = user.call("update", old.id, "--json", **env)
        assert ended.returncode == 0, ended.stderr
    assert "draft" in acts
    assert not {"assess", "plan"} & {*acts}
    told = json.loads(ended.stdout)
    changed = [claim for claim in told["changes"]["claims"] if claim["kind"] == "changed"]
    assert changed
    assert all("€151.9" in claim["edits"][0]["after"] for claim in changed)
    (edit,) = [edit for source in told["changes"]["sources"] for edit in source["edits"]]
    assert "€146.2" in edit["before"]
    assert "€151.9" in told["finalReport"]


def test_an_update_that_was_killed_goes_on_as_an_update(tmp_path: Path) -> None:
    user, docs = User(tmp_path), tmp_path / "docs"
    planted = CASES["english"]
    _write(docs, planted.files)
    user.question = planted.question
    assert user.ask("documents", "--docs", str(docs)).returncode == 0
    old = user.only_run().id
    _changed(docs, planted)
    assert user.run("update", old, TEST_KILL_STAGE="write").returncode < 0
    new, _ = user.with_store(lambda store: store.list_runs(limit=2))
    resumed = user.run("runs", "resume", new.id)
    assert resumed.returncode == 0, resumed.stderr
    changes = json.loads((Path(new.folder) / "changes.json").read_text(encoding="utf-8"))
    assert sum(len(source["edits"]) for source in changes["sources"]) == len(planted.edits)
    assert old[:8] in resumed.stdout
