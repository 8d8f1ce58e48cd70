-- The statements of the store that PostgreSQL needs in other words than queries.sql has.

-- name: clock
SELECT extract(epoch FROM clock_timestamp())::float8 AS now_s

-- Runs

-- name: lock_run
SELECT * FROM runs WHERE id = :run FOR NO KEY UPDATE

-- PostgreSQL finds by itself what its indexes have lost.
-- name: count_runs
SELECT 0 AS rows, 0 AS ids

-- name: find_rows
SELECT rowid FROM runs WHERE starts_with(id, :prefix) ORDER BY id LIMIT 2

-- name: list_rows
SELECT rowid, convert_to(id, 'UTF8') AS id FROM runs ORDER BY created_at DESC, runs.id DESC

-- name: choose_rows
SELECT rowid, convert_to(id, 'UTF8') AS id FROM runs
WHERE (:user::text IS NULL OR "user" = :user)
  AND (:created_at::text IS NULL OR (created_at, runs.id) < (:created_at, :id))
  AND (:text = '' OR strpos(lower(request::json ->> 'question'), lower(:text)) > 0)
  AND (:origin = '' OR :origin IN (request::json ->> 'follow', request::json #>> '{update,run}'))
  AND (:tag = '' OR :tag IN (SELECT json_array_elements_text(tags::json)))
ORDER BY created_at DESC, runs.id DESC

-- name: list_unfinished
SELECT id, "user", status, owner FROM runs
WHERE status IN ('created', 'running', 'interrupted', 'waiting') AND "user" <> ''
  AND (status <> 'waiting' OR EXISTS (
      SELECT 1 FROM answers WHERE answers.run = runs.id AND answers.scope = runs.pending::json ->> 'scope'))
ORDER BY created_at, id

-- Whoever writes to a run waits here for others who do. The shared lock keeps content from being removed meanwhile.
-- name: get_hold
SELECT id, status, epoch, owner, claimed_at, cancel_requested, pg_advisory_xact_lock_shared(7106200002) FROM runs
WHERE id = :run FOR NO KEY UPDATE

-- name: lock_content
SELECT pg_advisory_xact_lock(7106200002)

-- Answers of the user

-- name: count_answers
SELECT count(*) AS rows FROM answers WHERE run = :run

-- Events

-- name: read_events
SELECT * FROM events WHERE run = :run AND seq > :after ORDER BY seq LIMIT nullif(:limit, -1)

-- What was read

-- name: add_address
INSERT INTO run_documents (run, address, document) VALUES (:run, :address, :document)
ON CONFLICT (run, digest_of(address)) DO UPDATE SET document = excluded.document

-- name: count_addresses
SELECT count(*) AS rows FROM run_documents WHERE run = :run

-- name: add_evidence
INSERT INTO evidence (run, passage, section, finding, score, header)
VALUES (:run, :passage, :section, :finding, :score, :header)
ON CONFLICT (run, passage, section) DO UPDATE
SET finding = least(evidence.finding, excluded.finding), score = greatest(evidence.score, excluded.score),
    header = greatest(evidence.header, excluded.header)

-- name: count_evidence
SELECT count(*) AS rows FROM evidence WHERE passage = :passage AND run = :run

-- name: measure
SELECT (SELECT count(*) FROM runs) AS runs, (SELECT count(*) FROM documents) AS documents,
       (SELECT count(*) FROM blobs) AS blobs, pg_database_size(current_database()) AS bytes_on_disk
