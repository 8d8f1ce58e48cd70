"""Reports checked again: the run, its file, and its bundle on a machine that has never seen the run."""

import hashlib
import io
import json
import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from deep_research.export.bundle import check_bundle
from tests.e2e.harness import User, assert_explained
from tests.support.examples import EXAMPLES, copy_index
from tests.support.longer import first_of

QUESTIONS = {
    "en": "How much did the Halden Bay heat pump retrofit cost and what did it achieve?",
    "zh": "青岚市的海绵城市改造花了多少钱，效果如何？",
}
MOON = "The moon is made of cheese. [3]"


@pytest.fixture(scope="module", params=first_of(QUESTIONS))
def user(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> User:
    user = User(tmp_path_factory.mktemp("user"))
    copy_index(user.home)
    asked = user.call("ask", QUESTIONS[request.param], "--docs", str(EXAMPLES), "--output", "bundle.zip")
    assert asked.returncode == 0, asked.stderr
    return user


@pytest.fixture
def stranger(tmp_path: Path) -> User:
    """Return somebody on another machine."""
    return User(tmp_path / "elsewhere", env={"DEEP_RESEARCH_OFFLINE": "true"})


def members_of(bundle: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(bundle) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in members.items():
            archive.writestr(name, raw)
    return path


def test_a_run_and_its_file_hold_until_they_are_changed(user: User, tmp_path: Path) -> None:
    run = user.only_run()
    folder = tmp_path / "run"
    shutil.copytree(run.folder, folder)
    for target in (run.id[:8], str(folder / "report.md")):
        ended = user.call("verify", target)
        assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout
    report = Path(run.folder) / "report.md"
    text = report.read_text(encoding="utf-8")
    changes: dict[str, Callable[[str], str]] = {
        "999.9": lambda told: told.replace("146.2", "999.9").replace("48.6", "999.9"),
        "The moon is made of cheese": lambda told: told.replace("\n## ", f"\n{MOON}\n\n## ", 2),
    }
    for told, change in changes.items():
        for path, target in ((report, run.id[:8]), (folder / "report.md", str(folder / "report.md"))):
            path.write_text(change(text), encoding="utf-8")
            ended = user.call("verify", target, "--json")
            path.write_text(text, encoding="utf-8")
            assert ended.returncode == 3
            found = json.loads(ended.stdout)
            assert not found["passed"]
            assert not found["verification"]["report_passed"]
            assert any(told in foreign for foreign in found["verification"]["report"]["foreign"])
    assert user.call("verify", run.id[:8]).returncode == 0


def test_a_consistent_change_of_all_files_is_found_by_the_stored_texts(user: User, tmp_path: Path) -> None:
    run = user.only_run()
    folder = tmp_path / "run"
    shutil.copytree(run.folder, folder)
    for path in folder.glob("*.*"):
        path.write_text(path.read_text("utf-8").replace("146.2", "999.9").replace("48.6", "999.9"), encoding="utf-8")
    ended = user.call("verify", str(folder / "report.md"))
    assert ended.returncode == 3
    assert "the document does not hold the passage" in ended.stdout


def test_a_bundle_is_checked_where_its_run_is_not_known(user: User, stranger: User) -> None:
    bundle = stranger.folder / "got.zip"
    shutil.copy(user.folder / "bundle.zip", bundle)
    ended = stranger.call("verify", "got.zip", "--json")
    assert ended.returncode == 0, ended.stdout
    found = json.loads(ended.stdout)
    assert found["run"] == user.only_run().id
    assert not stranger.home.exists(), "nothing is made where nothing is needed"
    assert stranger.call("verify", "got.zip", "--digest", found["digest"]).returncode == 0
    assert stranger.call("verify", "got.zip", "--digest", "0" * 64).returncode == 3
    members = members_of(bundle)
    assert {"report.md", "paragraphs.jsonl", "evidence.jsonl", "citations.json", "edition.json"} <= members.keys()
    assert {"verify.json", "verification.md", "manifest.json"} <= members.keys()
    cited = {source["document"] for source in json.loads(members["edition.json"])["citations"]["cited"]}
    assert {name.split("/")[1] for name in members if name.startswith("documents/") and name.endswith(".txt")} == {
        f"{document}.txt" for document in cited
    }
    facts = [json.loads(raw) for name, raw in members.items() if name.startswith("documents/") and "json" in name]
    assert {f"snapshots/{each['snapshot']}" for each in facts} <= members.keys()
    assert all((EXAMPLES / each["address"]).read_bytes() == members[f"snapshots/{each['snapshot']}"] for each in facts)


def test_a_bundle_has_the_same_bytes_each_time(user: User) -> None:
    run = user.only_run().id
    assert user.call("export", run, "--format", "bundle", "-o", "again.zip").returncode == 0
    assert (user.folder / "again.zip").read_bytes() == (user.folder / "bundle.zip").read_bytes()


def test_any_changed_byte_of_any_member_is_noticed(user: User, stranger: User) -> None:
    members = members_of(user.folder / "bundle.zip")
    path = stranger.folder / "x.zip"
    for number, (name, raw) in enumerate(members.items()):
        at = (0, len(raw) // 3, len(raw) - 1)[number % 3] if name != "manifest.json" else len(raw) - 200
        packed(path, members | {name: raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]})
        checked = check_bundle(path).recheck
        assert not checked.passed, (name, at)
        assert name == "manifest.json" or f"{name} was changed" in " ".join(checked.problems)
    for name in members.keys() - {"manifest.json"}:
        packed(path, {own: raw for own, raw in members.items() if own != name})
        assert f"{name} is listed and is not there" in check_bundle(path).recheck.problems
    packed(path, members | {"documents/more.txt": b"more"})
    ended = stranger.call("verify", "x.zip")
    assert ended.returncode == 3
    assert "documents/more.txt is there and is not listed" in ended.stdout


def test_a_forged_manifest_does_not_hide_a_changed_claim(user: User, stranger: User) -> None:
    """The hashes are made to fit: what was changed is found by the texts, and the digest is another."""
    members = members_of(user.folder / "bundle.zip")
    digest = hashlib.sha256(members["manifest.json"]).hexdigest()
    forged = {
        name: raw.replace(b"146.2", b"999.9").replace(b"48.6", b"99.9") if name.endswith(("l", "n", "d")) else raw
        for name, raw in members.items()
    }
    manifest = json.loads(forged["manifest.json"])
    for name in manifest["members"]:
        raw = forged[name]
        manifest["members"][name] = {"sha256": hashlib.sha256(raw).hexdigest(), "size": len(raw)}
    text = json.dumps(manifest, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n"
    packed(stranger.folder / "x.zip", forged | {"manifest.json": text.encode()})
    ended = stranger.call("verify", "x.zip", "--json")
    assert ended.returncode == 3
    found = json.loads(ended.stdout)
    assert not any("was changed" in problem for problem in found["problems"])
    assert any("does not hold" in problem for problem in found["problems"])
    assert found["digest"] != digest


def unsafe(kind: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        if kind == "bomb":
            archive.writestr("report.md", b"0" * 50_000_000)
        elif kind == "count":
            for number in range(10_001):
                archive.writestr(f"documents/{number}.txt", b"")
        elif kind == "link":
            entry = zipfile.ZipInfo("report.md")
            entry.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(entry, "/etc/passwd")
        elif kind == "twice":
            archive.writestr("report.md", b"one")
            with pytest.warns(UserWarning, match="Duplicate"):
                archive.writestr("report.md", b"two")
        elif kind == "encrypted":
            archive.writestr("report.md", b"secret")
        elif kind == "other":
            archive.writestr("hello.txt", b"hello")
        else:
            archive.writestr(kind, b"x")
    raw = stream.getvalue()
    if kind == "encrypted":
        at = raw.rindex(b"PK\1\2") + 8
        raw = raw[:at] + b"\1" + raw[at + 1 :]
    return raw


@pytest.mark.parametrize(
    "kind",
    ["bomb", "count", "link", "twice", "encrypted", "other", "../report.md", "/report.md", "a/b/c.md", "C:\\x", "dir/",
     "documents/../../x"],
)  # fmt: skip
def test_what_is_not_safe_to_unpack_is_refused(stranger: User, kind: str) -> None:
    (stranger.folder / "x.zip").write_bytes(unsafe(kind))
    assert_explained(stranger.call("verify", "x.zip"), 65)
    assert [path.name for path in stranger.folder.parent.rglob("*")] == ["elsewhere", "x.zip"]


def test_what_stands_beside_a_bundle_or_nests_without_end_is_refused(user: User, stranger: User) -> None:
    raw = (user.folder / "bundle.zip").read_bytes()
    for changed in (b"x" * 200 + raw, raw[:30] * 4 + raw, raw + b"x" * 200):
        (stranger.folder / "x.zip").write_bytes(changed)
        assert_explained(stranger.call("verify", "x.zip"), 65)
    with zipfile.ZipFile(stranger.folder / "x.zip", "w") as archive:
        archive.writestr("manifest.json", "[" * 200_000)
    assert_explained(stranger.call("verify", "x.zip"), 65)


def test_a_bundle_that_was_cut_off_is_refused(user: User, stranger: User) -> None:
    raw = (user.folder / "bundle.zip").read_bytes()
    for length in (0, 10, len(raw) // 2, len(raw) - 1):
        (stranger.folder / "x.zip").write_bytes(raw[:length])
        assert_explained(stranger.call("verify", "x.zip"), 65)
    middle = raw.index(b"PK", 5_000) - 20
    (stranger.folder / "x.zip").write_bytes(raw[:middle] + bytes([raw[middle] ^ 255]) + raw[middle + 1 :])
    assert_explained(stranger.call("verify", "x.zip"), 65)


def test_what_cannot_be_checked_is_said(stranger: User) -> None:
    (stranger.folder / "other.md").write_text("# A report\n\nIt is so. [1]\n", encoding="utf-8")
    assert "audit" in assert_explained(stranger.call("verify", "other.md"), 64)
    assert "no file" in assert_explained(stranger.call("verify", "missing.md"), 64)
    assert_explained(stranger.call("verify", "abcd1234"), 64)
    assert "digest" in assert_explained(stranger.call("verify", "other.md", "--digest", "00"), 64)


def test_a_file_is_checked_without_a_store(user: User, stranger: User) -> None:
    shutil.copytree(user.only_run().folder, stranger.folder / "run")
    ended = stranger.call("verify", "run/report.md")
    assert ended.returncode == 0
    assert "could not be opened again" in ended.stdout
    assert not stranger.home.exists()


AUDITED = Path(__file__).parents[1] / "unit" / "verify" / "audited"


@pytest.mark.parametrize(
    ("name", "told"), [("harbour-heat.md", "Line 9: the figure"), ("qinglan.md", "第 9 行： 数字")]
)
def test_any_report_is_audited_against_a_folder(stranger: User, name: str, told: str) -> None:
    ended = stranger.call("audit", str(AUDITED / name), "--sources", str(EXAMPLES))
    assert ended.returncode == 3
    assert told in ended.stdout
    assert "audit-letter-truncated.pdf" in ended.stderr, "what could not be read is said"
    found = json.loads(stranger.call("audit", str(AUDITED / name), "--sources", str(EXAMPLES), "--json").stdout)
    assert not found["passed"]
    assert {"line", "text", "verdict", "fault", "detail", "source", "passage"} == found["checked"][0].keys()
    assert not stranger.home.exists()


def test_own_report_is_sound_in_an_audit(user: User) -> None:
    report = str(Path(user.only_run().folder) / "report.md")
    ended = user.call("audit", report, "--sources", str(EXAMPLES))
    assert ended.returncode == 0, ended.stdout


def test_what_cannot_be_audited_is_said(stranger: User, tmp_path: Path) -> None:
    report = stranger.folder / "r.md"
    report.write_text("The plant cost 5 million. [1]\n\n## References\n\n[1] A title\n", encoding="utf-8")
    assert "--sources" in assert_explained(stranger.call("audit", "r.md"), 64)
    assert_explained(stranger.call("audit", "none.md", "--sources", str(EXAMPLES)), 64)
    assert_explained(stranger.call("audit", "r.md", "--sources", str(tmp_path / "nowhere")), 65)
    (stranger.folder / "empty").mkdir()
    assert_explained(stranger.call("audit", "r.md", "--sources", "empty"), 65)
    report.write_bytes(b"\xff\xfe\x00")
    assert_explained(stranger.call("audit", "r.md", "--sources", str(EXAMPLES)), 65)
