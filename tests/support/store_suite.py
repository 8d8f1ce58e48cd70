"""What every adapter of the store port must pass: subclass `StoreConformance` and provide the fixture `open_store`.

Needs pytest with pytest-asyncio; nothing outside these suites does.
"""

import asyncio
from datetime import timedelta

import pytest

from deep_research.errors import StoreCorrupt, UnknownRun
from deep_research.report.sources.document import snapshot_id
from deep_research.request import Spend
from deep_research.storage.store.lease import current_owner
from deep_research.storage.store.port import CallState
from deep_research.storage.store.store import OpenStore
from tests.support.store_run_suite import RunConformance
from tests.support.store_samples import (
    BROKEN_TEXT,
    START,
    make_call,
    make_document,
    make_event,
    make_evidence,
    make_status,
    opened,
    start_run,
)


class HistoryConformance:
    """The journal and the events."""

    @pytest.mark.asyncio
    async def test_call_round_trips(self, open_store: OpenStore) -> None:
        row = make_call(
            "k",
            answer=[{"标题": BROKEN_TEXT, "n": 1.5}, None, True],
            error={"name": "NetworkError"},
            estimate=Spend(usd=0.5, tokens=10),
            spend=Spend(usd=0.25, seconds=1.5),
            orphaned=Spend(queries=1),
            ended_at=START + timedelta(seconds=1.5),
            after=("j1", "j2"),
            code_version="1.0",
        )
        async with opened(open_store) as store:
            lease = await start_run(store)
            await store.record_call(lease, row)
            assert await store.find_call(lease.run, "k") == row
            assert await store.find_call(lease.run, "other") is None
            assert await store.find_call("other", "k") is None

    @pytest.mark.asyncio
    async def test_calls_keep_the_order_of_their_first_start(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store:
            lease = await start_run(store)
            for key in ("b", "a", "c"):
                await store.record_call(lease, make_call(key, state="started"))
            await store.record_call(lease, make_call("b", answer="found"))
            assert [(row.key, row.state) for row in await store.list_calls(lease.run)] == [
                ("b", "done"),
                ("a", "started"),
                ("c", "started"),
            ]

    @pytest.mark.asyncio
    async def test_retry_supersedes_failed_and_refused_calls_only(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store:
            lease, other = await start_run(store), await start_run(store, "other-run")
            states: tuple[CallState, ...] = ("started", "done", "failed", "refused")
            for state in states:
                await store.record_call(lease, make_call(state, state=state))
            await store.record_call(other, make_call("failed", state="failed"))
            assert await store.raise_attempt(lease) == 1
            assert (await store.get_run(lease.run)).attempt == 1
            assert [row.is_superseded for row in await store.list_calls(lease.run)] == [False, False, True, True]
            assert [row.is_superseded for row in await store.list_calls(other.run)] == [False]

    @pytest.mark.asyncio
    async def test_named_calls_are_superseded(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store:
            lease = await start_run(store)
            for key in ("a", "b", "c"):
                await store.record_call(lease, make_call(key, state="failed"))
            await store.supersede_calls(lease, ["c", "a", "unknown"])
            assert [row.is_superseded for row in await store.list_calls(lease.run)] == [True, False, True]

    @pytest.mark.asyncio
    async def test_event_with_a_known_key_is_not_told_again(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store, opened(open_store) as other:
            lease = await start_run(store)
            first = await store.append_events(lease, [make_event("a"), make_event("b"), make_event("a")])
            second = await other.append_events(lease, [make_event("b"), make_event("c")])
            assert [(event.seq, event.key) for event in first + second] == [(1, "a"), (2, "b"), (3, "c")]
            assert await store.append_events(lease, []) == []
            stored = await store.read_events(lease.run)
            assert [event.to_json() for event in stored] == [event.to_json() for event in first + second]

    @pytest.mark.asyncio
    async def test_events_are_read_from_any_point(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store:
            lease = await start_run(store)
            await store.append_events(lease, [make_event(str(number)) for number in range(5)])
            assert [event.seq for event in await store.read_events(lease.run, after=2)] == [3, 4, 5]
            assert [event.seq for event in await store.read_events(lease.run, after=1, limit=2)] == [2, 3]
            assert await store.read_events(lease.run, after=5) == []

    @pytest.mark.asyncio
    async def test_events_of_two_runs_appended_at_once_have_no_gap(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store, opened(open_store) as other:
            claims = [await start_run(store), await start_run(other, "other-run")]
            appends = [
                each.append_events(lease, [make_event(f"{number}/{part}") for part in range(2)])
                for number in range(20)
                for lease in claims
                for each in (store, other)
            ]
            await asyncio.gather(*appends)
            for lease in claims:
                events = await store.read_events(lease.run)
                assert [event.seq for event in events] == list(range(1, 41))
                assert len({event.key for event in events}) == 40


class ReadingConformance:
    """What was read: blobs, documents, evidence, and removing them with the last run that needs them."""

    @pytest.mark.asyncio
    async def test_blobs_round_trip(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store, opened(open_store) as other:
            lease = await start_run(store)
            for raw in (b"", "研究".encode(), bytes(range(256)) * 20_480):
                blob = await store.put_blob(lease, raw)
                assert blob == snapshot_id(raw) == await other.put_blob(lease, raw)
                assert await other.get_blob(blob) == raw
            assert (await store.size()).blobs == 3
            with pytest.raises(StoreCorrupt):
                await store.get_blob(snapshot_id(b"never kept"))

    @pytest.mark.asyncio
    async def test_documents_round_trip(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store:
            lease = await start_run(store)
            for document in (
                make_document("深度研究。" * 1000),
                make_document(BROKEN_TEXT, title=BROKEN_TEXT),
                make_document(""),
            ):
                await store.put_document(lease, document, address=f"file:{document.id}")
                assert await store.get_document(document.id) == document
            with pytest.raises(StoreCorrupt):
                await store.get_document("unknown")

    @pytest.mark.asyncio
    async def test_id_that_is_not_the_contents_is_refused(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store:
            lease, document = await start_run(store), make_document("text")
            with pytest.raises(ValueError, match="id"):
                await store.put_document(lease, document.model_copy(update={"id": "mine"}), address="a")
            await store.put_document(lease, document, address="a")
            evidence = make_evidence(document, 0, 2, section="s1").model_copy(update={"end": 3})
            with pytest.raises(ValueError, match="id"):
                await store.put_evidence(lease, [evidence])

    @pytest.mark.asyncio
    async def test_same_text_at_two_addresses_is_one_document(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store:
            lease = await start_run(store)
            first, second = make_document("same", title="first"), make_document("same", title="second")
            await store.put_document(lease, first, address="b")
            await store.put_document(lease, second, address="a")
            await store.put_document(lease, make_document("other"), address="c")
            addresses = await store.list_addresses(lease.run)
            assert list(addresses) == ["a", "b", "c"]
            assert addresses["a"] == addresses["b"] == first.id
            assert (await store.get_document(first.id)).title == "first"
            assert (await store.size()).documents == 2

    @pytest.mark.asyncio
    async def test_evidence_comes_in_the_order_asked_for(self, open_store: OpenStore) -> None:
        text = "第一句。第二句。Third sentence."
        async with opened(open_store) as store:
            lease, document = await start_run(store), make_document(text)
            await store.put_document(lease, document, address="a")
            kept = [make_evidence(document, 0, 4, section="s1"), make_evidence(document, 4, 8, section="s2")]
            await store.put_evidence(lease, kept)
            await store.put_evidence(lease, [])
            ids = [kept[1].id, kept[0].id, kept[1].id]
            assert await store.get_evidence(lease.run, ids) == [kept[1], kept[0], kept[1]]
            assert (kept[0].quote, kept[1].quote) == ("第一句。", "第二句。")
            with pytest.raises(StoreCorrupt):
                await store.get_evidence("other-run", ids)

    @pytest.mark.asyncio
    async def test_shared_passage_reads_the_same_whatever_came_first(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store:
            document = make_document("one passage")
            findings = [("s2", "a"), ("s1", "z"), ("s1", "y")]
            kept = [make_evidence(document, 0, 3, section=section, finding=text) for section, text in findings]
            for run, order in (("run-1", kept), ("run-2", kept[::-1])):
                lease = await start_run(store, run)
                await store.put_document(lease, document, address="a")
                for evidence in order:
                    await store.put_evidence(lease, [evidence])
                assert await store.get_evidence(run, [kept[0].id]) == [kept[2]]

    @pytest.mark.asyncio
    async def test_evidence_of_a_document_nobody_kept_is_refused(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store:
            lease = await start_run(store)
            with pytest.raises(StoreCorrupt):
                await store.put_evidence(lease, [make_evidence(make_document("text"), 0, 1, section="s1")])

    @pytest.mark.asyncio
    async def test_deleted_run_takes_only_its_own_things_along(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store:
            shared, texts = "kept by both", {"run-1": "only the first", "run-2": "only the second"}
            kept = {}
            for run, text in texts.items():
                lease = await start_run(store, run)
                raw = await store.put_blob(lease, f"raw {run}".encode())
                for each in (make_document(shared, snapshot=raw), make_document(text)):
                    await store.put_document(lease, each, address=each.id)
                    kept[run] = make_evidence(each, 0, 4, section="s1")
                    await store.put_evidence(lease, [kept[run]])
                await store.record_call(lease, make_call("k"))
                await store.append_events(lease, [make_event("e")])
                await store.put_answer(run, "ask/1", "yes")
                await store.finish(lease, "done", event=make_status("done"))
            await store.delete_run("run-1", current_owner())
            with pytest.raises(UnknownRun):
                await store.get_run("run-1")
            assert await store.list_calls("run-1") == []
            assert await store.read_events("run-1") == []
            assert await store.get_answers("run-1") == await store.list_addresses("run-1") == {}
            with pytest.raises(StoreCorrupt):
                await store.get_document(kept["run-1"].document)
            document = await store.get_document(make_document(shared).id)
            assert await store.get_blob(document.snapshot) == b"raw run-1"
            assert await store.get_evidence("run-2", [kept["run-2"].id]) == [kept["run-2"]]
            await store.delete_run("run-2", current_owner())
            size = await store.size()
            assert (size.runs, size.documents, size.blobs) == (0, 0, 0)
            assert size.bytes_on_disk > 0

    @pytest.mark.asyncio
    async def test_bytes_that_another_run_keeps_outlive_a_deleted_run(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store, opened(open_store) as other:
            first = await start_run(store, "run-1")
            blob = await store.put_blob(first, b"a draft")
            await store.finish(first, "done", event=make_status("done"))
            second = await start_run(other, "run-2")
            assert await other.put_blob(second, b"a draft") == blob
            await store.delete_run("run-1", current_owner())
            assert await other.get_blob(blob) == b"a draft"

    @pytest.mark.asyncio
    async def test_store_can_be_closed_twice(self, open_store: OpenStore) -> None:
        store = open_store()
        await store.size()
        await store.close()
        await store.close()


class StoreConformance(RunConformance, HistoryConformance, ReadingConformance):
    """The whole port; `open_store` opens another store on the same, at first empty, memory at each call."""

    @pytest.fixture
    def open_store(self) -> OpenStore:
        """Return a function that opens a store; adapters override this."""
        raise NotImplementedError
