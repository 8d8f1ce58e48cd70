"""Documents uploaded to a server: what is kept, what is refused, and what nobody can do with a name or a file."""

import io
import json
import os
import resource
import socket
import stat
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from deep_research.errors import InputError, NotFound, UsageError
from deep_research.server.app import create_app
from deep_research.service.accounts.identity import Identity
from deep_research.service.runs.new_run import NewRun
from deep_research.service.service import ResearchService
from tests.support.hostile_files import samples
from tests.support.server import QUESTION, VAGUE, Client, all_documents, server_process, serving, settings_for
from tests.support.waiting import HANG_S, wait_until

NOTES = b"The Halden plant cost 30 million euros in 2021. It produced 5 GWh of heat in its first year.\n"
CHINESE = "# 海绵城市改造\n\n项目在2021年花费三亿元，雨水径流减少了百分之四十。\n".encode()
HOSTILE = Path(__file__).parents[3] / "shared" / "evaldata" / "hostile" / "naughty_strings.json"
# What no request may name, by any part of a field's name.
_FORBIDDEN = ("model", "path", "folder", "command", "server", "address", "url", "host", "provider", "key", "file")
# Fields that hold one of these words and mean something else.
_HARMLESS = {
    "/api/collections/{collection}/files": {"files": "the bytes themselves"},
    "/v1/chat/completions": {"model": "one of the depths that /v1/models lists"},
    "/v1/responses": {"model": "one of the depths that /v1/models lists"},
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def client(place: Path) -> Iterator[Client]:
    limits = {"upload_max_file_mb": 2, "upload_max_collection_mb": 5, "upload_max_files": 30}
    with serving(all_documents(place, **limits)) as found:
        yield found


@pytest.fixture
def collection(client: Client) -> Iterator[str]:
    made = client.http.post("/api/collections", json={"name": "Papers"})
    assert made.status_code == 201
    yield made.json()["id"]
    client.http.delete(f"/api/collections/{made.json()['id']}")


def send(client: Client, collection: str, *files: tuple[str, bytes]) -> dict[str, Any]:
    """Upload files and return what became of them."""
    answer = client.http.post(f"/api/collections/{collection}/files", files=[("files", file) for file in files])
    assert answer.status_code == (201 if answer.json()["added"] else 200), answer.text
    return dict(answer.json())


def read(client: Client, collection: str) -> dict[str, Any]:
    """Return a collection once all its files have been looked into."""

    def shown() -> dict[str, Any]:
        return dict(client.http.get(f"/api/collections/{collection}").json())

    wait_until(lambda: all(file["state"] != "reading" for file in shown()["documents"]), complaint=shown)
    return shown()


def on_disk(place: Path) -> list[str]:
    """Return every uploaded file of a server, and what is on its way in."""
    # Folders go away meanwhile, which os.walk passes over.
    folders = os.walk(place / "home" / "uploads")
    return sorted(name for _, _, names in folders for name in names if name != "owner.json")


def names(place: Path, collection: str) -> list[str]:
    return sorted(path.name for path in (place / "home" / "uploads" / collection).glob("*"))


def test_files_are_told_by_their_content_and_the_readable_ones_are_kept(client, collection):
    sent = [(name, raw) for name, raw in samples().items() if raw]
    sent += [("picture.pdf", b"\x89PNG\r\n\x1a\n...."), ("program.txt", b"\x7fELF\x02\x01"), ("nothing.md", b"")]
    sent += [
        ("noise.txt", os.urandom(5_000)),
        ("archive.docx", b"PK\x03\x04 not really"),
        ("cut.pdf", os.urandom(5_000)),
        ("page.txt", b"<!doctype html><p>" + NOTES),
    ]
    outcome = send(client, collection, *sent)
    refused = {each["name"]: each["code"] for each in outcome["refused"]}
    assert refused == {
        "picture.pdf": "unreadable",
        "program.txt": "unreadable",
        "nothing.md": "empty",
        "noise.txt": "unreadable",
        "archive.docx": "damaged",
        "cut.pdf": "damaged",
    }
    assert "a PNG image" in next(each["reason"] for each in outcome["refused"] if each["name"] == "picture.pdf")
    shown = read(client, collection)
    assert shown["files"] == len(outcome["added"]) == len(sent) - len(refused)
    files = {file["name"]: file for file in shown["documents"]}
    assert files["page.txt.html"]["kind"] == "html"
    assert {file["state"] for file in files.values()} == {"ready"}
    assert all(file["words"] > 0 and file["passages"] > 0 for file in files.values())
    assert next(file for file in files.values() if file["kind"] == "pdf")["pages"] >= 1


def test_a_file_without_an_ending_is_read_and_searched_in_both_languages(client, collection):
    outcome = send(client, collection, ("halden", NOTES), ("海绵城市", CHINESE))
    assert [file["name"] for file in outcome["added"]] == ["halden.txt", "海绵城市.txt"]
    read(client, collection)
    for query, name in (("what did the plant cost", "halden.txt"), ("雨水径流减少了多少", "海绵城市.txt")):
        found = client.http.get(f"/api/collections/{collection}/search", params={"q": query}).json()
        assert found["passages"][0]["address"] == name
        assert not found["is_reading"]


def test_a_research_over_a_collection_cites_its_files_and_shows_no_path(client, collection, place):
    send(client, collection, ("Halden 报告.md", NOTES * 3))
    run = client.finished("What did the Halden plant cost and produce?", documents=collection)
    shown = client.http.get(f"/api/runs/{run['id']}").text + client.http.get(f"/api/runs/{run['id']}/progress").text
    with client.http.stream("GET", f"/api/runs/{run['id']}/events") as stream:
        shown += stream.read().decode()
    assert "Halden 报告.md" in shown
    assert str(place) not in shown


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../../etc/passwd", "passwd.txt"),
        ("..\\..\\windows\\system32\\config.txt", "config.txt"),
        ("/etc/cron.d/job.txt", "job.txt"),
        ("..", "document.txt"),
        ("", "document.txt"),
        (".bashrc", "bashrc.txt"),
        ("~$open.txt", "open.txt"),
        ("a\t\x07Set-Cookie: b\x7f.txt", "a Set-Cookie_ b.txt"),
        ("gpj.\u202etxt.exe", "gpj.txt.exe.txt"),
        ("CON", "_CON.txt"),
        ("nul.txt", "_nul.txt"),
        ("lpt1.tar.txt", "_lpt1.tar.txt"),
        ('<img src=x onerror="alert(1)">.txt', "_img src=x onerror=_alert(1)__.txt"),
        ("Cafe\u0301.txt", "Caf\u00e9.txt"),
        ("关于海绵城市的研究（2021年）.txt", "关于海绵城市的研究（2021年）.txt"),
        ("關於海綿城市.TXT", "關於海綿城市.TXT"),
        ("name .  . ", "name.txt"),
        ("100%.txt", "100%.txt"),
        ("https://example.org/a.txt", "a.txt"),
    ],
)
def test_a_name_leads_nowhere_and_stays_readable(client, collection, place, given, kept):
    outcome = _send_raw(client, collection, given, NOTES)
    assert [file["name"] for file in outcome["added"]] == [kept]
    assert names(place, collection) == [kept]
    assert [file["state"] for file in read(client, collection)["documents"]] == ["ready"]


def test_long_names_are_cut_between_letters_and_equal_ones_are_numbered(client, collection, place):
    long = "海绵城市改造的效果" * 40 + ".txt"
    outcome = send(
        client, collection, (long, NOTES), (long, NOTES + b"2"), ("A.txt", b"one more"), ("a.TXT", b"two more")
    )
    kept = [file["name"] for file in outcome["added"]]
    assert all(len(name.encode()) <= 255 for name in kept)
    assert kept[0].startswith("海绵城市改造的效果")
    assert kept[0].endswith(".txt")
    assert kept[1] == kept[0].removesuffix(".txt") + " (2).txt"
    assert kept[2:] == ["A.txt", "a (2).TXT"]
    assert names(place, collection) == sorted(kept)


def test_the_same_file_twice_is_said_to_be_there(client, collection):
    outcome = send(client, collection, ("one.txt", NOTES), ("two.txt", NOTES))
    assert [file["name"] for file in outcome["added"]] == ["one.txt"]
    assert [(each["name"], each["code"]) for each in outcome["refused"]] == [("two.txt", "duplicate")]
    assert "'one.txt'" in outcome["refused"][0]["reason"]


def test_files_are_private_to_the_account_that_runs_the_server(client, collection, place):
    send(client, collection, ("one.txt", NOTES))
    folder = place / "home" / "uploads" / collection
    rights = {path: stat.S_IMODE(path.stat().st_mode) for path in (folder.parent, folder, folder / "one.txt")}
    assert list(rights.values()) == [0o700, 0o700, 0o600]


def test_limits_of_a_file_a_collection_and_a_count_cost_only_what_is_over_them(client, collection):
    outcome = send(client, collection, ("large.txt", b"a b " * 600_000), ("small.txt", NOTES))
    assert [file["name"] for file in outcome["added"]] == ["small.txt"]
    assert [each["code"] for each in outcome["refused"]] == ["too_large"]
    nearly = [(f"{number}.txt", (b"%d " % number) * 950_000) for number in (1, 2, 3)]
    full = [each["code"] for file in nearly for each in send(client, collection, file)["refused"]]
    assert full == ["full"]
    many = send(client, collection, *((f"n{number}.txt", b"note %d" % number) for number in range(29)))
    assert len(many["added"]) == 27
    assert {each["code"] for each in many["refused"]} == {"full"}


def test_more_than_can_be_kept_is_refused_before_and_while_it_is_sent(client, collection, place):
    before = on_disk(place)
    answer = client.http.post(f"/api/collections/{collection}/files", files={"files": ("a.txt", b"a" * 7_000_000)})
    assert answer.status_code == 413
    with _raw_upload(client, collection, "Transfer-Encoding: chunked") as connection:
        # It never ends; the server does not read it to its end either.
        piece = b"a" * 60_000
        with pytest.raises(OSError):
            for _ in range(10_000):
                connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
    wait_until(lambda: on_disk(place) == before)


@pytest.mark.parametrize("header", ["Content-Length: 100000", "Content-Length: 300"])
def test_an_upload_that_is_cut_off_leaves_nothing(client, collection, place, header):
    before = on_disk(place)
    with _raw_upload(client, collection, header) as connection:
        connection.sendall(NOTES)
    wait_until(lambda: on_disk(place) == before)
    assert read(client, collection)["documents"] == []
    assert client.http.get("/api/collections").status_code == 200


def test_what_is_no_form_is_refused(client, collection):
    address = f"/api/collections/{collection}/files"
    assert client.http.post(address, json={"files": ["/etc/passwd"]}).status_code == 415
    broken = client.http.post(address, content=b"no form", headers={"Content-Type": "multipart/form-data; boundary=x"})
    assert broken.status_code == 422
    empty = client.http.post(address, content=b"--x--\r\n", headers={"Content-Type": "multipart/form-data; boundary=x"})
    assert empty.status_code in (200, 422)
    fields = client.http.post(address, files={"path": (None, "/etc/passwd"), "files": ("a.txt", NOTES)})
    assert [file["name"] for file in fields.json()["added"]] == ["a.txt"]


def test_a_full_disk_is_said_in_plain_words_and_leaves_nothing(tmp_path):
    with serving(settings_for(tmp_path)) as client:
        collection = client.http.post("/api/collections", json={"name": "Papers"}).json()["id"]
        answer = _sent_to_a_full_disk(client, collection)
        assert answer.status_code == 507
        assert "没有保留任何内容" in answer.json()["detail"]
        assert str(tmp_path) not in answer.text
        assert on_disk(tmp_path) == []
        assert client.http.get(f"/api/collections/{collection}").json()["files"] == 0


def _sent_to_a_full_disk(client: Client, collection: str) -> Any:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # What the server's databases hold is less.
    resource.setrlimit(resource.RLIMIT_FSIZE, (8_000_000, hard))
    try:
        return client.http.post(
            f"/api/collections/{collection}/files",
            files={"files": ("a.txt", b"word " * 2_000_000)},
            headers={"Accept-Language": "zh-CN"},
        )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_an_archive_bomb_costs_itself_and_not_the_server(client, collection):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", b"<Types/>")
        with archive.open("word/document.xml", "w", force_zip64=True) as part:
            for _ in range(310):
                part.write(bytes(1_000_000))
    outcome = send(client, collection, ("bomb.docx", packed.getvalue()), ("fine.txt", NOTES))
    assert [(each["name"], each["code"]) for each in outcome["refused"]] == [("bomb.docx", "unreadable")]
    assert [file["name"] for file in outcome["added"]] == ["fine.txt"]


def test_collections_are_named_listed_renamed_and_deleted(client, place):
    made = client.http.post("/api/collections", json={"name": "  海绵\n城市 "}).json()
    assert made["name"] == "海绵 城市"
    assert made["id"] in [each["id"] for each in client.http.get("/api/collections").json()["collections"]]
    renamed = client.http.patch(f"/api/collections/{made['id']}", json={"name": "<b>雨水</b>"})
    assert renamed.json()["name"] == "<b>雨水</b>"
    file = send(client, made["id"], ("a.txt", NOTES), ("b.txt", CHINESE))["added"][0]
    assert client.http.delete(f"/api/collections/{made['id']}/files/{file['id']}").status_code == 204
    assert client.http.delete(f"/api/collections/{made['id']}/files/{file['id']}").status_code == 404
    assert names(place, made["id"]) == ["b.txt"]
    assert client.http.delete(f"/api/collections/{made['id']}").status_code == 204
    assert not (place / "home" / "uploads" / made["id"]).exists()
    for answer in (
        client.http.get(f"/api/collections/{made['id']}"),
        client.http.delete(f"/api/collections/{made['id']}"),
        client.http.patch(f"/api/collections/{made['id']}", json={"name": "x"}),
        client.http.get(f"/api/collections/{made['id']}/search", params={"q": "a"}),
        client.http.post(f"/api/collections/{made['id']}/files", files={"files": ("a.txt", NOTES)}),
    ):
        assert answer.status_code == 404
    for name in ("", " \n ", "\u200b\u202e", "x" * 201):
        assert client.http.post("/api/collections", json={"name": name}).status_code == 422


@pytest.mark.parametrize(
    "named", ["../../etc", "/etc", "..", "%2e%2e%2f%2e%2e", "file:///etc", "uploads", "\u0000", "海绵城市"]
)
def test_a_request_can_name_no_place_of_this_machine(client, named):
    refused = client.http.post("/api/runs", json={"question": QUESTION, "documents": named})
    assert refused.status_code == 404
    for field in ("docs", "folder", "path", "model", "thinking_model", "provider", "wiring", "home", "logs", "engines"):
        assert client.http.post("/api/runs", json={"question": QUESTION, field: named}).status_code == 422


def test_no_request_body_has_a_field_for_a_model_a_path_a_command_or_an_address(tmp_path):
    document = create_app(settings_for(tmp_path)).openapi()
    seen = 0
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            for field in _fields(operation.get("requestBody", {}), document):
                seen += 1
                is_named = any(word in field.lower() for word in _FORBIDDEN)
                assert not is_named or field in _HARMLESS.get(path, {}), (method, path, field)
    assert seen > 20


def test_the_operators_folder_is_searched_and_never_changed(client):
    listed = client.http.get("/api/collections").json()["collections"][0]
    assert (listed["id"], listed["is_read_only"]) == ("server", True)
    wait_until(lambda: client.http.get("/api/collections/server").json()["files"] >= 20)
    wait_until(lambda: not client.http.get("/api/collections/server/search", params={"q": "cost"}).json()["is_reading"])
    shown = client.http.get("/api/collections/server").text
    assert "council-closing-report.pdf" in shown
    assert "examples" not in shown
    assert client.http.get("/api/collections/server/search", params={"q": "cost"}).json()["passages"]
    file = client.http.get("/api/collections/server").json()["documents"][0]["id"]
    for answer in (
        client.http.post("/api/collections/server/files", files={"files": ("a.txt", NOTES)}),
        client.http.delete(f"/api/collections/server/files/{file}"),
        client.http.delete("/api/collections/server"),
        client.http.patch("/api/collections/server", json={"name": "mine"}),
    ):
        assert answer.status_code == 400


def test_a_question_with_files_searches_the_shared_folder_too_and_its_files_go_with_it(client, place):
    made = client.http.post("/api/collections", json={"name": "notes.md", "for_question": True}).json()
    assert made["is_of_question"]
    send(client, made["id"], ("notes.md", NOTES))
    asked = {"documents": made["id"], "shared_documents": True, "strategy": "local"}
    run = client.ask(QUESTION, **asked)["id"]
    assert client.wait(run, "done", "failed")["status"] == "done"
    addresses = {each["address"] for each in client.http.get(f"/api/runs/{run}/sources").json()["sources"]}
    assert "notes.md" in addresses
    assert any(address.startswith("shared/") for address in addresses)
    assert client.http.get(f"/api/collections/{made['id']}").json()["name"] == QUESTION
    again = client.http.post(f"/api/runs/{run}/update").json()["id"]
    client.wait(again, "done", "failed")
    for deleted, is_kept in ((run, True), (again, False)):
        assert client.http.delete(f"/api/runs/{deleted}").status_code == 204
        assert (place / "home" / "uploads" / made["id"]).exists() is is_kept
        assert (client.http.get(f"/api/collections/{made['id']}").status_code == 200) is is_kept


def test_a_server_that_searches_documents_alone_asks_nobody_else(tmp_path):
    with serving(settings_for(tmp_path, strategy="local")) as client:
        for strategy in ("general", "news"):
            refused = client.http.post("/api/runs", json={"question": QUESTION, "strategy": strategy})
            assert (refused.status_code, "documents alone" in refused.json()["detail"]) == (400, True)
        form = client.http.get("/").text
        assert 'value="news" disabled' in form
        assert "nothing leaves it" in form
        nothing = client.http.post("/api/runs", json={"question": QUESTION, "shared_documents": False})
        assert nothing.status_code == 400


def test_a_run_that_waits_keeps_its_documents_until_it_is_over(client, collection, place):
    send(client, collection, ("a.txt", NOTES))
    run = client.ask(VAGUE, documents=collection)["id"]
    client.wait(run, "waiting")
    assert client.http.delete(f"/api/collections/{collection}").status_code == 204
    assert client.http.get(f"/api/collections/{collection}").status_code == 404
    assert names(place, collection) == ["a.txt"]
    client.http.post(f"/api/runs/{run}/answer", json={"answer": "the cost of the Halden plant"})
    assert client.wait(run, "done", "failed")["status"] == "done"
    # Another deletion looks after what is left.
    other = client.http.post("/api/collections", json={"name": "Other"}).json()["id"]
    client.http.delete(f"/api/collections/{other}")
    assert not (place / "home" / "uploads" / collection).exists()


def test_four_uploads_of_one_account_are_taken_at_once(client, collection, place):
    # What tests before this one broke off is gone.
    wait_until(lambda: "0" not in on_disk(place))
    with ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(_raw_upload(client, collection, "Content-Length: 100000"))
        wait_until(lambda: on_disk(place).count("0") == 4)
        fifth = client.http.post(f"/api/collections/{collection}/files", files={"files": ("a.txt", NOTES)})
        assert fifth.status_code == 429
    wait_until(lambda: "0" not in on_disk(place))
    assert send(client, collection, ("a.txt", NOTES))["added"]


def test_naughty_names_are_kept_readable_or_refused(client, collection, place):
    texts = json.loads(HOSTILE.read_text(encoding="utf-8")) if HOSTILE.exists() else []
    for text in [*texts[::6], "\ud800", "\x00", "=cmd|' /C calc'!A0", "'; DROP TABLE files; --"]:
        renamed = client.http.patch(
            f"/api/collections/{collection}",
            content=json.dumps({"name": text}),
            headers={"Content-Type": "application/json"},
        )
        assert renamed.status_code in (200, 422), text
        (file,) = _send_raw(client, collection, text.encode("utf-8", "replace").decode(), NOTES)["added"]
        (name,) = names(place, collection)
        assert name == file["name"], text
        assert not set(name) & set("/\\\x00\n\r\u202e"), text
        assert len(name.encode()) <= 255
        client.http.delete(f"/api/collections/{collection}/files/{file['id']}")


async def test_documents_of_another_account_are_unknown(tmp_path):
    ann, ben = Identity(user="ann"), Identity(user="ben")
    async with ResearchService(settings_for(tmp_path, upload_max_collections=1)) as service:
        documents = service.documents
        hers = await documents.create("Hers", ann)
        async with documents.upload(hers.id, ann) as upload:
            await _sent(upload, "a.txt", NOTES)
            (file,) = (await documents.add(hers.id, upload.files, ann)).added
        assert [each.id for each in await documents.list(ben)] == ["server"]
        for attempt in (
            documents.read(hers.id, ben),
            documents.rename(hers.id, "Mine", ben),
            documents.delete(hers.id, ben),
            documents.remove_file(hers.id, file.id, ben),
            documents.search(hers.id, "plant", ben, limit=1),
            service.create(NewRun(question=QUESTION, documents=hers.id), ben),
        ):
            with pytest.raises(NotFound):
                await attempt
        with pytest.raises(NotFound):
            async with documents.upload(hers.id, ben):
                pass
        with pytest.raises(UsageError, match="limit"):
            await documents.create("One more", ann)


async def test_a_finished_run_outlives_its_documents_and_says_why_it_cannot_be_done_again(tmp_path):
    who = Identity()
    async with ResearchService(settings_for(tmp_path)) as service:
        made = await service.documents.create("Papers", who)
        with pytest.raises(UsageError, match="holds no documents yet"):
            await service.create(NewRun(question=QUESTION, documents=made.id), who)
        async with service.documents.upload(made.id, who) as upload:
            await _sent(upload, "a.txt", NOTES * 2)
            await service.documents.add(made.id, upload.files, who)
        row = await service.create(NewRun(question="What did the Halden plant cost?", documents=made.id), who)
        async for _ in service.events(row.id, who):
            pass
        await service.documents.delete(made.id, who)
        assert not Path(row.request.docs).exists()
        assert (await service.result(row.id, who)).final_report
        for attempt in (service.update(row.id, who), service.resume(row.id, who, retry=True)):
            with pytest.raises(InputError, match="not there any longer"):
                await attempt


@pytest.mark.long
def test_what_a_killed_server_was_sent_is_removed_and_what_it_kept_is_read(tmp_path):
    with server_process(tmp_path) as server:
        client = server.client
        collection = client.http.post("/api/collections", json={"name": "x"}).json()["id"]
        send(client, collection, ("kept.txt", NOTES))
        with _raw_upload(client, collection, "Content-Length: 1000000") as connection:
            connection.sendall(NOTES)
            wait_until(lambda: "0" in on_disk(tmp_path))
            server.kill()
        server.start()
        wait_until(lambda: on_disk(tmp_path) == ["kept.txt"])
        (file,) = read(client, collection)["documents"]
        assert (file["name"], file["state"]) == ("kept.txt", "ready")


async def _sent(upload: Any, name: str, raw: bytes) -> None:
    await upload.begin(name)
    await upload.write(raw)
    await upload.end()


def _send_raw(client: Client, collection: str, name: str, raw: bytes) -> dict[str, Any]:
    """Upload a file under a name that no client library would send as it is."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    body = b'--x\r\nContent-Disposition: form-data; name="files"; filename="%s"\r\n\r\n%s\r\n--x--\r\n'
    answer = client.http.post(
        f"/api/collections/{collection}/files",
        content=body % (escaped.encode(), raw),
        headers={"Content-Type": "multipart/form-data; boundary=x"},
    )
    return dict(answer.json())


@contextmanager
def _raw_upload(client: Client, collection: str, header: str) -> Iterator[socket.socket]:
    """Begin an upload by hand; it has no end unless the caller sends one."""
    host, port = client.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=HANG_S) as connection:
        head = f"POST /api/collections/{collection}/files HTTP/1.1\r\nHost: {host}:{port}\r\n{header}\r\n"
        head += "Content-Type: multipart/form-data; boundary=x\r\n\r\n"
        part = '--x\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'
        if "chunked" in header:
            part = f"{len(part):x}\r\n{part}\r\n"
        connection.sendall((head + part).encode())
        yield connection


def _fields(schema: Any, document: Any, seen: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield the names of all fields below a schema, those it refers to among them."""
    if isinstance(schema, list):
        for each in schema:
            yield from _fields(each, document, seen)
    if not isinstance(schema, dict):
        return
    reference = schema.get("$ref", "")
    if reference and reference not in seen:
        yield from _fields(
            document["components"]["schemas"][reference.rpartition("/")[2]], document, seen | {reference}
        )
    yield from schema.get("properties", {})
    for name, each in schema.items():
        if name not in ("examples", "example", "description", "$ref"):
            yield from _fields(each, document, seen)
