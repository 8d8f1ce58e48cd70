"""The part of the store's suite that is about runs: finding, holding, taking over, cancelling, answering."""

import asyncio

import pytest

from deep_research.errors import RunCancelled, RunHeld, RunTaken, UnknownRun, UsageError
from deep_research.events import RunStatus
from deep_research.request import ResearchRequest
from deep_research.storage.store.lease import current_owner
from deep_research.storage.store.port import Lease, RunChoice
from deep_research.storage.store.store import OpenStore, Store
from deep_research.value import JsonObject
from tests.support.store_samples import (
    LEASE_S,
    make_call,
    make_document,
    make_event,
    make_evidence,
    make_run,
    make_status,
    make_stranger,
    opened,
    start_run,
)


class RunConformance:
    """Runs: finding, holding, taking over, cancelling."""

    @pytest.mark.asyncio
    async def test_created_run_is_found_by_another_store(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store, opened(open_store) as other:
            await store.create_run(make_run())
            assert await other.get_run("a1b2c3d4") == make_run()

    @pytest.mark.asyncio
    async def test_second_run_with_the_same_id_is_refused(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store:
            await store.create_run(make_run())
            with pytest.raises(UsageError):
                await store.create_run(make_run())

    @pytest.mark.asyncio
    async def test_run_is_found_by_a_prefix_that_only_it_has(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store:
            for run in ("aaaa1111", "aaaa2222", "bbbb1111", "bbbb"):
                await store.create_run(make_run(run))
            assert (await store.get_run("aaaa1")).id == "aaaa1111"
            assert (await store.get_run("bbbb")).id == "bbbb"
            for name in ("aaaa", "bbb", "cccc", "", "%", "aaaa____"):
                with pytest.raises(UnknownRun, match="runs list"):
                    await store.get_run(name)

    @pytest.mark.asyncio
    async def test_runs_are_listed_newest_first(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store:
            for minute, run in enumerate(("run-old", "run-new", "run-mid")):
                await store.create_run(make_run(run, minute={0: 0, 1: 2, 2: 1}[minute]))
            await store.lease("run-mid", current_owner(), lease_s=LEASE_S)
            assert [run.id for run in await store.list_runs(limit=2)] == ["run-new", "run-mid"]
            assert [run.id for run in await store.list_runs(limit=9, status="running")] == ["run-mid"]

    @pytest.mark.asyncio
    async def test_runs_are_chosen_by_user_words_tag_and_page(self, open_store: OpenStore) -> None:
        def question(text: str) -> ResearchRequest:
            return ResearchRequest(question=text)

        async with opened(open_store) as store:
            texts = ("Heat pumps", "海绵城市", "heat storage", "100% wind")
            for minute, (run, text) in enumerate(zip(("run-a", "run-b", "run-c", "run-d"), texts, strict=True)):
                user = "ann" if run != "run-d" else "ben"
                await store.create_run(
                    make_run(run, minute=minute).model_copy(update={"request": question(text), "user": user})
                )
            await store.set_tags("run-a", ["energy", "städte"])

            async def found(**choice: object) -> list[str]:
                return [run.id for run in await store.list_runs(limit=9, choice=RunChoice.model_validate(choice))]

            assert await found(user="ann") == ["run-c", "run-b", "run-a"]
            assert await found(user="nobody") == []
            assert await found(text="HEAT") == ["run-c", "run-a"]
            assert await found(text="海绵") == ["run-b"]
            assert await found(text="%") == ["run-d"]
            odd = question("As \\u0000, half \ud83d, zero \0")
            await store.create_run(make_run("run-odd", minute=-1).model_copy(update={"request": odd}))
            assert await found(text="as \\U0000") == ["run-odd"]
            assert await found(text="zero") == ["run-odd"]
            lease = await start_run(store, "run-told")
            said = 'Halden\n"Bills" fell by 7 %. 青岚市 \\u0000 \0'
            result: JsonObject = {"text": said, "title": "T", "learnings": ["unsaid"]}
            await store.finish(lease, "done", event=make_status("done"), result=result)
            for words in ('"BILLS" fell', "青岚市", "7 %", "\\u0000"):
                assert "run-told" in await found(text=words)
            assert await found(text="unsaid") == await found(text="learnings") == []
            await store.delete_run("run-told", current_owner())
            assert await found(text="Bills") == []
            assert await found(tag="städte") == ["run-a"]
            assert await found(tag="energ") == []
            after = question("And since?").model_copy(update={"follow": "run-a"})
            await store.create_run(make_run("run-e", minute=9).model_copy(update={"request": after}))
            assert await found(origin="run-a") == ["run-e"]
            assert await found(origin="run-b") == []
            last = await store.get_run("run-c")
            assert await found(user="ann", before=(last.created_at, last.id)) == ["run-b", "run-a"]
            assert (await store.get_run("run-a")).tags == ("energy", "städte")
            with pytest.raises(UnknownRun):
                await store.set_tags("run-x", ["energy"])
            await store.give_runs(before="ben", after="ann")
            assert await found(user="ben") == []
            assert await found(user="ann") == ["run-d", "run-c", "run-b", "run-a"]

    @pytest.mark.asyncio
    async def test_a_server_finds_the_runs_that_should_go_on(self, open_store: OpenStore) -> None:
        ended: dict[str, RunStatus] = {"run-i": "interrupted", "run-f": "failed", "run-d": "done"}
        async with opened(open_store) as store:
            names = ("run-n", "run-r", "run-w", "run-a", *ended, "run-cli")
            for minute, run in enumerate(names):
                user = "" if run == "run-cli" else "ann"
                await store.create_run(make_run(run, minute=10 - minute).model_copy(update={"user": user}))
            for run in (*ended, "run-r", "run-w", "run-a"):
                lease = await store.lease(run, make_stranger(seconds_ago=0), lease_s=LEASE_S)
                status: RunStatus = ended.get(run, "waiting")
                pending: JsonObject | None = {"scope": "ask/2", "question": "Zero \0?"} if status == "waiting" else None
                if run != "run-r":
                    await store.finish(lease, status, event=make_status(status), pending=pending)
            await store.put_answer("run-w", "ask/1", "to an earlier question")
            await store.put_answer("run-a", "ask/2", "to this one")

            found = await store.list_unfinished()
            assert [(run.id, run.user) for run in found] == [
                (run, "ann") for run in ("run-i", "run-a", "run-r", "run-n")
            ]
            assert {run.id for run in found if run.owner} == {"run-r"}
            counts = {"created": 2, "running": 1, "waiting": 2, "interrupted": 1, "failed": 1, "done": 1}
            assert await store.count_by_status() == counts

    @pytest.mark.asyncio
    async def test_claimed_run_is_held_against_everybody(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store, opened(open_store) as other:
            lease = await start_run(store)
            assert (lease.epoch, (await store.get_run(lease.run)).status) == (1, "running")
            for refused in (store, other):
                with pytest.raises(RunHeld, match=str(current_owner().pid)):
                    await refused.lease(lease.run, current_owner(), lease_s=LEASE_S)
            with pytest.raises(RunHeld):
                await other.delete_run(lease.run, current_owner())

    @pytest.mark.asyncio
    async def test_one_of_two_claims_at_once_wins(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store, opened(open_store) as other:
            await store.create_run(make_run())
            claims = [each.lease("a1b2c3d4", current_owner(), lease_s=LEASE_S) for each in (store, other)]
            outcomes = await asyncio.gather(*claims, return_exceptions=True)
            assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Lease", "RunHeld"]

    @pytest.mark.asyncio
    async def test_silent_owner_is_replaced_and_can_write_nothing_more(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store, opened(open_store) as other:
            await store.create_run(make_run())
            old = await store.lease("a1b2c3d4", make_stranger(seconds_ago=60), lease_s=LEASE_S)
            new = await other.lease("a1b2c3d4", current_owner(), lease_s=LEASE_S)
            assert new.epoch == old.epoch + 1
            await self._assert_all_writes_raise(store, old, RunTaken)
            with pytest.raises(RunTaken):
                await store.finish(old, "done", event=make_status("done"))
            row = await store.get_run("a1b2c3d4")
            assert (row.status, row.epoch, row.attempt, row.active_s) == ("running", new.epoch, 0, 0.0)
            assert await store.list_calls(old.run) == []
            assert await store.read_events(old.run) == []
            await other.record_call(new, make_call("k"))

    async def _assert_all_writes_raise(self, store: Store, lease: Lease, error: type[Exception]) -> None:
        done: list[str] = []
        document = make_document("text")
        writes = [
            store.heartbeat(lease, current_owner(), active_s=1.0),
            store.record_call(lease, make_call("k", state="started")),
            store.supersede_calls(lease, ["k"]),
            store.raise_attempt(lease),
            store.append_events(lease, [make_event("e")]),
            store.put_document(lease, document, address="a"),
            store.put_evidence(lease, [make_evidence(document, 0, 1, section="s1")]),
            store.while_owner(lease, lambda: done.append("renamed")),
        ]
        for write in writes:
            with pytest.raises(error):
                await write
        assert done == []

    @pytest.mark.asyncio
    async def test_action_is_done_while_the_claim_holds(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store:
            lease, done = await start_run(store), list[str]()
            await store.while_owner(lease, lambda: done.append("renamed"))
            assert done == ["renamed"]
            with pytest.raises(ZeroDivisionError):
                await store.while_owner(lease, lambda: done.append(str(1 / 0)))
            await store.record_call(lease, make_call("still works"))

    @pytest.mark.asyncio
    async def test_heartbeat_renews_the_lease_and_adds_active_seconds(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store:
            await store.create_run(make_run())
            lease = await store.lease("a1b2c3d4", make_stranger(seconds_ago=60), lease_s=LEASE_S)
            await store.heartbeat(lease, make_stranger(seconds_ago=0), active_s=1.5)
            await store.heartbeat(lease, make_stranger(seconds_ago=0), active_s=2.0)
            assert (await store.get_run(lease.run)).active_s == 3.5
            with pytest.raises(RunHeld, match="elsewhere"):
                await store.lease(lease.run, current_owner(), lease_s=LEASE_S)

    @pytest.mark.asyncio
    async def test_finish_releases_the_run(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store:
            lease = await start_run(store)
            await store.finish(lease, "waiting", event=make_status("waiting"), pending={"question": "哪一个?"})
            row = await store.get_run(lease.run)
            assert (row.status, row.owner, row.pending) == ("waiting", None, {"question": "哪一个?"})
            again = await store.lease(lease.run, current_owner(), lease_s=LEASE_S)
            assert (await store.get_run(lease.run)).pending == {"question": "哪一个?"}
            await store.finish(
                again, "failed", event=make_status("failed"), result={"title": "t"}, error={"error": "e"}
            )
            row = await store.get_run(lease.run)
            assert (row.status, row.pending, row.result, row.error) == ("failed", None, {"title": "t"}, {"error": "e"})

    @pytest.mark.asyncio
    async def test_finish_tells_the_status_once(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store:
            lease = await start_run(store)
            await store.append_events(lease, [make_event("e")])
            (told,) = await store.finish(lease, "done", event=make_status("done"))
            assert (told.seq, told.kind, told.data) == (2, "run-status", {"status": "done"})
            assert await store.finish(lease, "done", event=make_status("done")) == []
            assert (await store.read_events(lease.run))[1:] == [told]

    @pytest.mark.asyncio
    async def test_late_heartbeat_does_not_take_a_finished_run_back(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store:
            lease = await start_run(store)
            await store.finish(lease, "interrupted", event=make_status("interrupted"))
            await store.heartbeat(lease, current_owner(), active_s=1.0)
            row = await store.get_run(lease.run)
            assert (row.owner, row.active_s) == (None, 0.0)
            await store.lease(lease.run, current_owner(), lease_s=LEASE_S)

    @pytest.mark.asyncio
    async def test_cancel_of_a_held_run_asks_its_owner_to_stop(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store, opened(open_store) as other:
            lease = await start_run(store)
            row = await other.request_cancel(
                lease.run, current_owner(), lease_s=LEASE_S, event=make_status("cancelled")
            )
            assert await other.read_events(lease.run) == [], "the owner tells it, once it has stopped"
            await store.record_call(lease, make_call("paid", state="done"))
            assert (row.status, row.cancel_requested) == ("running", True)
            await self._assert_all_writes_raise(store, lease, RunCancelled)
            await store.finish(lease, "cancelled", event=make_status("cancelled"))
            again = await other.lease(lease.run, current_owner(), lease_s=LEASE_S)
            assert not (await other.get_run(lease.run)).cancel_requested
            await other.record_call(again, make_call("k"))

    @pytest.mark.asyncio
    async def test_cancel_of_a_run_nobody_holds_is_done_at_once(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store:
            await store.create_run(make_run())
            assert (
                await store.request_cancel("a1b2c3d4", current_owner(), lease_s=LEASE_S, event=make_status("cancelled"))
            ).status == "cancelled"
            stale = await store.lease("a1b2c3d4", make_stranger(seconds_ago=60), lease_s=LEASE_S)
            assert (
                await store.request_cancel("a1b2c3d4", current_owner(), lease_s=LEASE_S, event=make_status("cancelled"))
            ).status == "cancelled"
            with pytest.raises(RunTaken):
                await store.finish(stale, "done", event=make_status("done"))

    @pytest.mark.asyncio
    async def test_cancel_leaves_a_finished_run_alone(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store:
            lease = await start_run(store)
            await store.finish(lease, "done", event=make_status("done"))
            row = await store.request_cancel(
                lease.run, current_owner(), lease_s=LEASE_S, event=make_status("cancelled")
            )
            assert (row.status, row.cancel_requested) == ("done", False)

    @pytest.mark.asyncio
    async def test_first_answer_stands(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store, opened(open_store) as other:
            await store.create_run(make_run())
            assert await store.put_answer("a1b2c3d4", "ask/1", {"text": "第一"})
            assert not await other.put_answer("a1b2c3d4", "ask/1", "second")
            assert await other.put_answer("a1b2c3d4", "ask/2", None)
            assert await store.get_answers("a1b2c3d4") == {"ask/1": {"text": "第一"}, "ask/2": None}

    @pytest.mark.asyncio
    async def test_unknown_run_is_refused(self, open_store: OpenStore) -> None:
        async with opened(open_store) as store:
            for attempt in (
                store.lease("nothing", current_owner(), lease_s=LEASE_S),
                store.request_cancel("nothing", current_owner(), lease_s=LEASE_S, event=make_status("cancelled")),
                store.delete_run("nothing", current_owner()),
                store.put_answer("nothing", "ask/1", "yes"),
            ):
                with pytest.raises(UnknownRun):
                    await attempt
