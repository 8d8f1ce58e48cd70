-- Every statement of the store by name, for SQLite; values come as parameters only.
-- Those that PostgreSQL needs in other words stand in queries_postgres.sql too.

-- Runs

-- name: add_run
INSERT INTO runs (id, created_at, updated_at, status, request, wiring, folder, code_version, epoch, attempt, owner,
                  cancel_requested, active_s, pending, result, error, "user", tags)
VALUES (:id, :created_at, :updated_at, 'created', :request, :wiring, :folder, :code_version, :epoch, :attempt, :owner,
        :cancel_requested, :active_s, :pending, :result, :error, :user, :tags)
ON CONFLICT (id) DO NOTHING

-- name: get_run
SELECT * FROM runs WHERE id = :run

-- The same for whoever will change it: SQLite has one writer at a time.
-- name: lock_run
SELECT * FROM runs WHERE id = :run

-- name: get_row
SELECT * FROM runs WHERE rowid = :row

-- What the index of ids holds must be what the table holds.
-- name: count_runs
SELECT (SELECT count(*) FROM runs NOT INDEXED) AS rows, (SELECT count(id) FROM runs WHERE id >= '') AS ids

-- name: find_rows
SELECT rowid FROM runs NOT INDEXED WHERE substr(id, 1, length(:prefix)) = :prefix ORDER BY id <> :prefix, id LIMIT 2

-- name: list_rows
SELECT rowid, CAST(id AS BLOB) AS id FROM runs NOT INDEXED ORDER BY created_at DESC, runs.id DESC

-- name: choose_rows
SELECT rowid, CAST(id AS BLOB) AS id FROM runs
WHERE (:user IS NULL OR "user" = :user)
  AND (created_at, runs.id) < (:created_at, :id)
  AND (:text = '' OR instr(lower(request ->> '$.question'), lower(:text))
    OR instr(lower(CASE WHEN json_valid(result) THEN result ->> '$.text' END), lower(:text)))
  AND (:origin = '' OR :origin IN (request ->> '$.follow', request ->> '$.update.run'))
  AND (:tag = '' OR EXISTS (SELECT 1 FROM json_each(tags) WHERE value = :tag))
ORDER BY created_at DESC, runs.id DESC

-- Runs of servers that should go on: not begun, cut off, or answered while they waited.
-- name: list_unfinished
SELECT id, "user", status, updated_at, owner FROM runs
WHERE status IN ('created', 'running', 'interrupted', 'waiting') AND "user" <> ''
  AND (status <> 'waiting' OR CASE WHEN json_valid(pending) THEN EXISTS (
      SELECT 1 FROM answers WHERE answers.run = runs.id AND answers.scope = runs.pending ->> '$.scope') END)
ORDER BY created_at, id

-- name: count_by_status
SELECT status, count(*) AS runs FROM runs GROUP BY status

-- How many runs of each user are being worked on.
-- name: count_running
SELECT "user", count(*) AS runs FROM runs WHERE status = 'running' AND "user" <> '' GROUP BY "user"

-- name: count_takeovers
SELECT coalesce(sum(takeovers), 0) AS takeovers FROM runs

-- name: get_switch
SELECT is_on FROM switches WHERE name = :name

-- name: set_switch
INSERT INTO switches (name, is_on) VALUES (:name, :is_on) ON CONFLICT (name) DO UPDATE SET is_on = excluded.is_on

-- name: set_tags
UPDATE runs SET tags = :tags WHERE id = :run

-- name: give_runs
UPDATE runs SET "user" = :after WHERE "user" = :before

-- name: get_hold
SELECT id, status, epoch, owner, claimed_at, cancel_requested FROM runs WHERE id = :run

-- name: claim_run
UPDATE runs SET status = 'running', epoch = epoch + 1, owner = :owner, claimed_at = :now, updated_at = :now,
                cancel_requested = FALSE, takeovers = :takeovers, idle_takeovers = :idle_takeovers,
                calls_at_claim = :calls
WHERE id = :run
RETURNING epoch

-- name: count_ended_calls
SELECT count(*) AS calls FROM journal WHERE run = :run AND state <> 'started'

-- A run that is being worked on is left alone.
-- name: reopen_run
UPDATE runs SET status = 'interrupted', retry_requested = (retry_requested OR :retry), idle_takeovers = 0,
                pending = NULL, error = NULL, updated_at = :now
WHERE id = :run AND status NOT IN ('created', 'running')

-- A heartbeat that comes late must not take a finished run back.
-- name: renew_lease
UPDATE runs SET owner = :owner, active_s = active_s + :active_s, updated_at = :now
WHERE id = :run AND status = 'running'

-- name: finish_run
UPDATE runs SET status = :status, owner = NULL, claimed_at = NULL, result = :result, error = :error,
                pending = :pending, active_s = active_s + :active_s, updated_at = :now
WHERE id = :run

-- name: ask_to_stop
UPDATE runs SET cancel_requested = TRUE, updated_at = :now WHERE id = :run

-- A process that held the run and sleeps must not go on when it wakes, hence the new epoch.
-- name: cancel_run
UPDATE runs SET status = 'cancelled', epoch = epoch + 1, owner = NULL, claimed_at = NULL, pending = NULL,
                updated_at = :now
WHERE id = :run

-- name: raise_attempt
UPDATE runs SET attempt = attempt + 1, retry_requested = FALSE, updated_at = :now WHERE id = :run RETURNING attempt

-- Removing a run: its rows, then what only they named

-- Lets nobody refer to content of other runs while what is left without a run is removed; SQLite has one writer.
-- name: lock_content
SELECT 1

-- name: drop_evidence
DELETE FROM evidence WHERE run = :run

-- name: drop_addresses
DELETE FROM run_documents WHERE run = :run

-- name: drop_loose_passages
DELETE FROM passages WHERE NOT EXISTS (SELECT 1 FROM evidence WHERE evidence.passage = passages.id)

-- name: drop_loose_documents
DELETE FROM documents
WHERE NOT EXISTS (SELECT 1 FROM run_documents WHERE run_documents.document = documents.id)
  AND NOT EXISTS (SELECT 1 FROM passages WHERE passages.document = documents.id)

-- name: drop_loose_blobs
DELETE FROM blobs
WHERE id IN (SELECT blob FROM run_blobs WHERE run = :run)
  AND NOT EXISTS (SELECT 1 FROM run_blobs WHERE run_blobs.blob = blobs.id AND run_blobs.run <> :run)
RETURNING object

-- name: drop_run
DELETE FROM runs WHERE id = :run

-- Answers of the user

-- name: add_answer
INSERT INTO answers (run, scope, answer) VALUES (:run, :scope, :answer) ON CONFLICT (run, scope) DO NOTHING

-- name: list_answers
SELECT * FROM answers WHERE run = :run ORDER BY scope

-- name: count_answers
SELECT count(*) AS rows FROM answers NOT INDEXED WHERE run = :run

-- Journal

-- name: find_call
SELECT * FROM journal WHERE run = :run AND key = :key

-- name: list_calls
SELECT * FROM journal WHERE run = :run ORDER BY number

-- The same by another index: a row that only one of them finds was lost by the other.
-- name: list_call_keys
SELECT key FROM journal WHERE run = :run ORDER BY key

-- name: record_call
INSERT INTO journal (run, key, number, kind, scope, attempt, state, answer, error, estimate, spend, orphaned,
                     started_at, ended_at, after, code_version, is_superseded)
SELECT :run, :key, coalesce(max(number), 0) + 1, :kind, :scope, :attempt, :state, :answer, :error, :estimate, :spend,
       :orphaned, :started_at, :ended_at, :after, :code_version, :is_superseded
FROM journal WHERE run = :run
ON CONFLICT (run, key) DO UPDATE SET
    kind = excluded.kind, scope = excluded.scope, attempt = excluded.attempt, state = excluded.state,
    answer = excluded.answer, error = excluded.error, estimate = excluded.estimate, spend = excluded.spend,
    orphaned = excluded.orphaned, started_at = excluded.started_at, ended_at = excluded.ended_at,
    after = excluded.after, code_version = excluded.code_version, is_superseded = excluded.is_superseded

-- name: supersede_call
UPDATE journal SET is_superseded = TRUE WHERE run = :run AND key = :key

-- name: supersede_failures
UPDATE journal SET is_superseded = TRUE WHERE run = :run AND state IN ('failed', 'refused')

-- Events

-- name: append_event
INSERT INTO events (run, seq, at, kind, key, data)
SELECT :run, coalesce(max(seq), 0) + 1, :at, :kind, :key, :data FROM events WHERE run = :run
ON CONFLICT (run, key) DO NOTHING
RETURNING seq

-- name: read_events
SELECT * FROM events WHERE run = :run AND seq > :after ORDER BY seq LIMIT :limit

-- name: last_seq
SELECT coalesce(max(seq), 0) AS seq FROM events WHERE run = :run

-- name: list_event_keys
SELECT key FROM events WHERE run = :run ORDER BY key

-- What was read

-- name: add_blob
INSERT INTO blobs (id, size, packed, object) VALUES (:id, :size, :packed, :object) ON CONFLICT (id) DO NOTHING

-- name: keep_blob
INSERT INTO run_blobs (run, blob) SELECT :run, id FROM blobs WHERE id = :blob ON CONFLICT DO NOTHING

-- name: get_blob
SELECT packed, object FROM blobs WHERE id = :blob

-- name: find_blob
SELECT id FROM blobs WHERE id = :blob

-- name: add_document
INSERT INTO documents (id, snapshot, text, about) VALUES (:id, :snapshot, :text, :about) ON CONFLICT (id) DO NOTHING

-- name: list_documents
SELECT id FROM documents ORDER BY id

-- name: list_blobs
SELECT id FROM blobs ORDER BY id

-- name: get_document
SELECT * FROM documents WHERE id = :document

-- name: add_address
INSERT INTO run_documents (run, address, document) VALUES (:run, :address, :document)
ON CONFLICT (run, address) DO UPDATE SET document = excluded.document

-- name: list_run_documents
SELECT * FROM run_documents WHERE run = :run ORDER BY address

-- name: count_run_documents
SELECT count(*) AS rows FROM run_documents NOT INDEXED WHERE run = :run

-- name: get_passage
SELECT id, document, start, "end" FROM passages WHERE id = :passage

-- name: add_passage
INSERT INTO passages (id, document, start, "end") VALUES (:id, :document, :start, :end) ON CONFLICT (id) DO NOTHING

-- Parallel tasks may find the same passage: the finding that stays must not hang on which came first.
-- name: add_evidence
INSERT INTO evidence (run, passage, section, finding, score, header)
VALUES (:run, :passage, :section, :finding, :score, :header)
ON CONFLICT (run, passage, section) DO UPDATE
SET finding = min(finding, excluded.finding), score = max(score, excluded.score), header = max(header, excluded.header)

-- name: get_evidence
SELECT * FROM evidence WHERE run = :run AND passage = :passage ORDER BY section

-- name: count_evidence
SELECT count(*) AS rows FROM evidence INDEXED BY evidence_by_passage WHERE passage = :passage AND run = :run

-- name: measure
SELECT (SELECT count(*) FROM runs) AS runs, (SELECT count(*) FROM documents) AS documents,
       (SELECT count(*) FROM blobs) AS blobs,
       (SELECT page_count * page_size FROM pragma_page_count, pragma_page_size) AS bytes_on_disk
