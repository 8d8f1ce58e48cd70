-- Every statement the cache sends, by name; values come as parameters only. What is sent by itself returns a row for
-- what it did.

-- name: find
SELECT value, used_at FROM kept WHERE kind = :kind AND key = :key AND expires_at > :now

-- name: touch
UPDATE kept SET used_at = :now WHERE kind = :kind AND key = :key RETURNING kind

-- name: keep
INSERT INTO kept (kind, key, expires_at, used_at, bytes, value)
VALUES (:kind, :key, :expires_at, :now, :cost, :value)
ON CONFLICT (kind, key) DO UPDATE
SET expires_at = excluded.expires_at, used_at = excluded.used_at, bytes = excluded.bytes, value = excluded.value
RETURNING kind

-- Whether this one may make room, which one at a time is to do; SQLite has one writer.
-- name: lock_room
SELECT 1 AS is_ours

-- name: size
SELECT coalesce(sum(bytes), 0) AS bytes FROM kept

-- name: drop_expired
DELETE FROM kept WHERE expires_at <= :now

-- name: drop_least_used
DELETE FROM kept WHERE (kind, key) IN (
    SELECT kind, key
    FROM (SELECT kind, key, sum(bytes) OVER (ORDER BY used_at DESC, kind, key) AS kept_bytes FROM kept) AS by_use
    WHERE kept_bytes > :bytes_left
)

-- name: drop_all
DELETE FROM kept
