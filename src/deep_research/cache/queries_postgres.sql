-- What PostgreSQL needs in other words than `queries.sql`. What is sent by itself returns a row for what it did.

-- name: touch
UPDATE kept SET used_at = :now WHERE kind = :kind AND key = :key RETURNING kind

-- name: keep
INSERT INTO kept (kind, key, expires_at, used_at, bytes, value)
VALUES (:kind, :key, :expires_at, :now, :cost, :value)
ON CONFLICT (kind, key) DO UPDATE
SET expires_at = excluded.expires_at, used_at = excluded.used_at, bytes = excluded.bytes, value = excluded.value
RETURNING kind

-- name: lock_room
SELECT pg_try_advisory_xact_lock(7106200003) AS is_ours

-- name: drop_least_used
DELETE FROM kept USING (
    SELECT kind, key, sum(bytes) OVER (ORDER BY used_at DESC, kind, key) AS kept_bytes FROM kept
) AS by_use
WHERE kept.kind = by_use.kind AND kept.key = by_use.key AND by_use.kept_bytes > :bytes_left

-- name: drop_all
TRUNCATE kept
