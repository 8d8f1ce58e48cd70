-- What PostgreSQL needs in other words than `queries.sql`.

-- name: lock_room
SELECT pg_try_advisory_xact_lock(7106200003) AS is_ours

-- name: drop_all
TRUNCATE kept
