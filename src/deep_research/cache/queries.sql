-- Every statement the cache sends, by name; values come as parameters only.

-- name: find
SELECT value, used_at FROM kept WHERE kind = :kind AND key = :key AND expires_at > :now

-- name: touch
UPDATE kept SET used_at = :now WHERE kind = :kind AND key = :key

-- name: keep
INSERT OR REPLACE INTO kept (kind, key, expires_at, used_at, bytes, value)
VALUES (:kind, :key, :expires_at, :now, :cost, :value)

-- name: size
SELECT coalesce(sum(bytes), 0) AS bytes FROM kept

-- name: drop_expired
DELETE FROM kept WHERE expires_at <= :now

-- name: drop_least_used
DELETE FROM kept WHERE rowid IN (
    SELECT rowid FROM (SELECT rowid, sum(bytes) OVER (ORDER BY used_at DESC, rowid DESC) AS kept_bytes FROM kept)
    WHERE kept_bytes > :bytes_left
)

-- name: drop_all
DELETE FROM kept
