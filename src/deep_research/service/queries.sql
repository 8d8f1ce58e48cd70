-- Every statement of the server by name, for SQLite and PostgreSQL; values come as parameters only.

-- Collections of documents

-- name: find_collection
SELECT * FROM collections WHERE id = :id AND "user" = :user

-- name: list_collections
SELECT collections.id, collections.name, created_at, count(files.id) AS files,
       CAST(coalesce(sum(bytes), 0) AS BIGINT) AS bytes,
       max(question_collections.collection) IS NOT NULL AS is_of_question
FROM collections LEFT JOIN files ON files.collection = collections.id
                 LEFT JOIN question_collections ON question_collections.collection = collections.id
WHERE "user" = :user GROUP BY collections.id ORDER BY created_at DESC, collections.id

-- name: all_collections
SELECT id FROM collections

-- name: add_collection
INSERT INTO collections (id, "user", name, created_at) VALUES (:id, :user, :name, :created_at)

-- name: add_question_collection
INSERT INTO question_collections (collection) VALUES (:collection)

-- name: ask_question_collection
UPDATE question_collections SET is_asked = 1 WHERE collection = :collection AND is_asked = 0

-- name: drop_question_collection
DELETE FROM collections WHERE id = :id AND id IN (SELECT collection FROM question_collections)

-- name: drop_unasked_collections
DELETE FROM collections
WHERE created_at < :before AND id IN (SELECT collection FROM question_collections WHERE is_asked = 0)

-- name: rename_collection
UPDATE collections SET name = :name WHERE id = :id AND "user" = :user

-- name: drop_collection
DELETE FROM collections WHERE id = :id AND "user" = :user

-- name: list_files
SELECT * FROM files WHERE collection = :collection ORDER BY name

-- name: find_file
SELECT * FROM files WHERE id = :id AND collection = :collection

-- name: add_file
INSERT INTO files (id, collection, name, kind, bytes, digest, added_at)
VALUES (:id, :collection, :name, :kind, :bytes, :digest, :added_at)

-- name: drop_file
DELETE FROM files WHERE id = :id

-- name: bytes_of_user
SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) AS bytes FROM files
WHERE collection IN (SELECT id FROM collections WHERE "user" = :user)

-- Idempotency keys

-- name: forget_keys
DELETE FROM idempotency WHERE created_at < :before OR created_at > :after

-- name: keep_key
INSERT INTO idempotency ("user", key, request, run, created_at) VALUES (:user, :key, :request, :run, :now)
ON CONFLICT ("user", key) DO NOTHING

-- name: find_key
SELECT request, run FROM idempotency WHERE "user" = :user AND key = :key

-- Accounts

-- name: any_user
SELECT 1 FROM users LIMIT 1

-- name: add_user
INSERT INTO users (id, name, password, created_at, is_admin, runs_at_once, runs_a_day, usd_a_month, queries_a_day)
VALUES (:id, :name, :password, :created_at, :is_admin, :runs_at_once, :runs_a_day, :usd_a_month, :queries_a_day)
ON CONFLICT DO NOTHING

-- name: list_users
SELECT * FROM users ORDER BY lower(name)

-- name: find_user
SELECT * FROM users WHERE lower(name) = lower(:name)

-- name: get_user
SELECT * FROM users WHERE id = :id

-- name: set_password
UPDATE users SET password = :password WHERE id = :id

-- name: set_limits
UPDATE users SET runs_at_once = :runs_at_once, runs_a_day = :runs_a_day, usd_a_month = :usd_a_month,
                 queries_a_day = :queries_a_day
WHERE id = :id

-- name: remove_user
DELETE FROM users WHERE id = :id

-- name: remove_schedules_of
DELETE FROM schedules WHERE "user" = :user

-- name: take_over_collections
UPDATE collections SET "user" = :user WHERE "user" = :before

-- name: take_over_schedules
UPDATE schedules SET "user" = :user WHERE "user" = :before

-- Tokens

-- name: add_token
INSERT INTO tokens (id, "user", name, digest, scopes, created_at, expires_at)
VALUES (:id, :user, :name, :digest, :scopes, :created_at, :expires_at)

-- name: list_tokens
SELECT * FROM tokens ORDER BY "user", created_at

-- name: find_token
SELECT tokens.*, users.name AS user_name, users.is_admin
FROM tokens JOIN users ON users.id = tokens.user
WHERE tokens.id = :id

-- name: token_used
UPDATE tokens SET last_used_at = :at WHERE id = :id

-- name: remove_token
DELETE FROM tokens WHERE id = :id

-- Sign-ins

-- name: add_sign_in
INSERT INTO sign_ins (digest, "user", created_at, expires_at) VALUES (:digest, :user, :created_at, :expires_at)

-- name: find_sign_in
SELECT sign_ins.*, users.name AS user_name, users.is_admin
FROM sign_ins JOIN users ON users.id = sign_ins.user
WHERE digest = :digest

-- name: remove_sign_in
DELETE FROM sign_ins WHERE digest = :digest

-- name: remove_sign_ins_of
DELETE FROM sign_ins WHERE "user" = :user

-- name: forget_old_sign_ins
DELETE FROM sign_ins WHERE expires_at <= :now

-- name: add_failed_sign_in
INSERT INTO failed_sign_ins (attempt, who, at) VALUES (:attempt, :who, :at)

-- name: failed_sign_ins
SELECT at FROM failed_sign_ins WHERE who = :who AND at > :since AND at <= :now ORDER BY at

-- name: remove_try
DELETE FROM failed_sign_ins WHERE attempt = :attempt

-- name: remove_tries_of
DELETE FROM failed_sign_ins WHERE who = :who

-- name: forget_old_tries
DELETE FROM failed_sign_ins WHERE at <= :before OR at > :now

-- What accounts use

-- name: add_usage
INSERT INTO usage (id, "user", run, at, usd_before, queries_before, usd, queries, seen_at)
VALUES (:id, :user, :run, :at, :usd_before, :queries_before, :usd, :queries, :seen_at)

-- name: confirm_usage
UPDATE usage SET seen_at = '' WHERE id = :id

-- name: remove_usage
DELETE FROM usage WHERE id = :id

-- name: close_usage
UPDATE usage SET is_open = 0 WHERE id = :id

-- name: settle_usage
UPDATE usage SET is_open = 0, usd = :usd, queries = :queries WHERE id = :id AND is_open = 1

-- name: lower_usage
UPDATE usage SET queries = :queries WHERE id = :id AND is_open = 1 AND queries > :queries

-- name: open_usage
SELECT * FROM usage WHERE "user" = :user AND is_open = 1

-- name: open_usage_of
SELECT * FROM usage WHERE run = :run AND is_open = 1

-- name: sum_usage
SELECT coalesce(sum(is_open), 0) AS runs_at_once,
       count(*) FILTER (WHERE at >= :day) AS runs_a_day,
       coalesce(sum(usd) FILTER (WHERE at >= :month), 0.0) AS usd_a_month,
       coalesce(sum(queries) FILTER (WHERE at >= :day), 0) AS queries_a_day
FROM usage WHERE "user" = :user AND (is_open = 1 OR at >= :month)

-- Audit log

-- name: add_audit
INSERT INTO audit (at, "user", address, action, subject, detail)
VALUES (:at, :user, :address, :action, :subject, :detail)

-- name: forget_old_audit
DELETE FROM audit WHERE number <= (SELECT max(number) FROM audit) - :kept

-- name: list_audit
SELECT * FROM audit ORDER BY number DESC LIMIT :limit

-- name: has_signed_in_from
SELECT 1 FROM audit WHERE "user" = :user AND action = 'sign-in' AND address = :address AND at > :since LIMIT 1

-- Schedules

-- name: add_schedule
INSERT INTO schedules (id, "user", request, every_s, mode, notify, webhook, email, next_at, created_at)
VALUES (:id, :user, :request, :every_s, :mode, :notify, :webhook, :email, :next_at, :created_at)

-- name: list_schedules
SELECT * FROM schedules WHERE "user" = :user ORDER BY created_at DESC, id

-- name: change_schedule
UPDATE schedules SET every_s = :every_s, is_paused = :is_paused, next_at = :next_at WHERE id = :id

-- name: drop_schedule
DELETE FROM schedules WHERE id = :id

-- Those of an account that was removed rest.
-- name: active_schedules
SELECT * FROM schedules WHERE is_paused = 0 AND ("user" = :local OR "user" IN (SELECT id FROM users))

-- Who changes the time from the one that was seen carries it out.
-- name: claim_schedule
UPDATE schedules SET next_at = :next_at, note = '' WHERE id = :id AND next_at = :seen AND is_paused = 0

-- name: note_schedule
UPDATE schedules SET note = :note WHERE id = :id

-- name: start_schedule
UPDATE schedules SET last_run = :run, is_settled = 0, note = '' WHERE id = :id

-- name: unsettled_schedules
SELECT * FROM schedules WHERE is_settled = 0

-- name: settle_schedule
UPDATE schedules SET is_settled = 1, done_run = :done_run, note = :note
WHERE id = :id AND last_run = :run AND is_settled = 0

-- Notifications

-- name: add_notification
INSERT INTO notifications (id, schedule, run, target, body, created_at, next_at)
VALUES (:id, :schedule, :run, :target, :body, :created_at, :created_at)

-- name: notifications_of
SELECT * FROM notifications WHERE schedule = :schedule ORDER BY created_at DESC LIMIT 10

-- A time too far away was set before somebody turned the clock back.
-- name: due_notifications
SELECT * FROM notifications WHERE sent_at IS NULL AND (next_at <= :now OR next_at > :far) ORDER BY next_at LIMIT 100

-- name: claim_notification
UPDATE notifications SET next_at = :until, tries = tries + 1 WHERE id = :id AND next_at = :seen AND sent_at IS NULL

-- name: note_sent
UPDATE notifications SET sent_at = :now, error = '', next_at = NULL WHERE id = :id

-- name: note_failed
UPDATE notifications SET error = :error, next_at = :next_at WHERE id = :id
