-- The statements of the store that PostgreSQL needs in other words than queries.sql has.

-- Runs

-- name: lock_run
SELECT * FROM runs WHERE id = :run FOR NO KEY UPDATE

-- name: find_rows
SELECT rowid FROM runs WHERE starts_with(id, :prefix) ORDER BY id LIMIT 2

-- The functions of JSON take no NUL and no half of a surrogate pair, which a question may hold.
-- name: list_runs
SELECT runs.* FROM runs, LATERAL (
    SELECT regexp_replace(request, '(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})', '\1\\ufffd', 'gi')::json,
           regexp_replace(result, '(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})', '\1\\ufffd', 'gi')::json
) AS asked (request, result)
WHERE (:user::text IS NULL OR "user" = :user)
  AND (:status::text IS NULL OR status = :status)
  AND (created_at, id) < (:created_at, :id)
  AND (:text = '' OR strpos(lower(asked.request ->> 'question'), lower(:text)) > 0
    OR strpos(lower(asked.result ->> 'text'), lower(:text)) > 0)
  AND (:origin = '' OR :origin IN (asked.request ->> 'follow', asked.request #>> '{update,run}'))
  AND (:tag = '' OR :tag IN (SELECT json_array_elements_text(tags::json)))
ORDER BY created_at DESC, id DESC
LIMIT :limit

-- name: list_unfinished
SELECT id, "user", status, updated_at, owner FROM runs, LATERAL (
    SELECT regexp_replace(pending, '(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})', '\1\\ufffd', 'gi')::json
) AS asked (pending)
WHERE status IN ('created', 'running', 'interrupted', 'waiting') AND "user" <> ''
  AND (status <> 'waiting' OR EXISTS (
      SELECT 1 FROM answers WHERE answers.run = runs.id AND answers.scope = asked.pending ->> 'scope'))
ORDER BY created_at, id

-- Whoever writes to a run waits here for others who do. The shared lock keeps content from being removed meanwhile.
-- name: get_hold
SELECT id, status, epoch, owner, claimed_at, cancel_requested, pg_advisory_xact_lock_shared(7106200002) FROM runs
WHERE id = :run FOR NO KEY UPDATE

-- name: lock_content
SELECT pg_advisory_xact_lock(7106200002)

-- Whoever works on the run is woken.
-- name: ask_to_stop
WITH told AS (SELECT pg_notify('deep_research_stop', :run))
UPDATE runs SET cancel_requested = TRUE, updated_at = :now FROM told WHERE id = :run

-- Events

-- Whoever reads the run's events is woken.
-- name: append_event
WITH added AS (
    INSERT INTO events (run, seq, at, kind, key, data)
    SELECT :run, coalesce(max(seq), 0) + 1, :at, :kind, :key, :data FROM events WHERE run = :run
    ON CONFLICT (run, key) DO NOTHING
    RETURNING seq
)
SELECT seq, pg_notify('deep_research_events', :run) FROM added

-- What was read

-- name: add_address
INSERT INTO run_documents (run, address, document) VALUES (:run, :address, :document)
ON CONFLICT (run, digest_of(address)) DO UPDATE SET document = excluded.document

-- name: add_evidence
INSERT INTO evidence (run, passage, section, finding, score, header)
VALUES (:run, :passage, :section, :finding, :score, :header)
ON CONFLICT (run, passage, section) DO UPDATE
SET finding = least(evidence.finding, excluded.finding), score = greatest(evidence.score, excluded.score),
    header = greatest(evidence.header, excluded.header)

-- name: measure
SELECT (SELECT count(*) FROM runs) AS runs, (SELECT count(*) FROM documents) AS documents,
       (SELECT count(*) FROM blobs) AS blobs, pg_database_size(current_database()) AS bytes_on_disk
