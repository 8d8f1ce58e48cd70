-- Whose a run is, where a server made it ('' for the command line), and the words its user filed it under (JSON).

ALTER TABLE runs ADD COLUMN user TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';
UPDATE runs SET seal = seal_of(
    id, created_at, updated_at, status, request, wiring, folder, code_version, epoch, attempt, owner, claimed_at,
    cancel_requested, active_s, pending, result, error, user, tags
);
CREATE INDEX runs_by_user ON runs (user, created_at);

PRAGMA user_version = 4;
