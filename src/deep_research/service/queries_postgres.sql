-- The statements of the server that PostgreSQL needs in other words than queries.sql has.

-- name: add_user
INSERT INTO users (id, name, password, created_at, is_admin, runs_at_once, runs_a_day, usd_a_month, queries_a_day)
VALUES (:id, :name, :password, :created_at, :is_admin, :runs_at_once, :runs_a_day, :usd_a_month, :queries_a_day)
ON CONFLICT (lower(name)) DO NOTHING

-- name: list_users
SELECT * FROM users ORDER BY lower(name)

-- name: find_user
SELECT * FROM users WHERE lower(name) = lower(:name)

-- name: settle_usage
UPDATE usage
SET is_open = 0, usd = greatest(0, :usd - usd_before), queries = greatest(0, :queries - queries_before)
WHERE id = :id AND is_open = 1

-- name: list_audit
SELECT * FROM audit WHERE :user::text IS NULL OR "user" = :user ORDER BY number DESC LIMIT :limit
