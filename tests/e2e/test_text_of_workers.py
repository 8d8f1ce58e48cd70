"""What a model writes for a worker is read, while it comes, at a server in another process."""

import json
from pathlib import Path

import pytest

pytest.importorskip("procrastinate", reason="needs the extra postgres")

from benchmarks.many_runs import question
from benchmarks.world_calls import Latencies
from benchmarks.world_process import world_in_a_process
from tests.support.postgres import PostgresServer
from tests.support.worker_hosts import at_work


@pytest.mark.long
def test_a_report_is_read_at_a_server_while_a_worker_has_it_written(postgres: PostgresServer, tmp_path: Path) -> None:
    latencies = Latencies(short=0.1, long=2.0, search=0.1, page=0.1, robots=0.0)
    with (
        world_in_a_process(latencies) as world,
        at_work(1, tmp_path, world, postgres, postgres.new_database()) as (client, _),
    ):
        run = client.ask(question(0), clarify="off")["id"]
        told: list[tuple[str, dict[str, str]]] = []
        with client.http.stream("GET", f"/api/runs/{run}/events") as answer:
            kind = ""
            for line in answer.iter_lines():
                name, _, value = line.partition(": ")
                if name == "event":
                    kind = value
                elif name == "data":
                    told.append((kind, json.loads(value)))
    pieces = [data["text"] for kind, data in told if kind == "live"]
    assert len(pieces) > 2, "it comes in pieces, not at once"
    drafts = [data["text"] for kind, data in told if kind == "message" and "[E" in data["text"]]
    assert drafts
    assert all(draft in "".join(pieces) for draft in drafts)
    kinds = [kind for kind, _ in told]
    assert kinds.index("live") < len(kinds) - 1 - kinds[::-1].index("run-status")
