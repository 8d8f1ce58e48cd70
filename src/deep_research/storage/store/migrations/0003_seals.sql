-- Every row that is read back carries a seal: a sum over its other columns, in the order of the table, so that a
-- flipped byte is seen. `seal_of` is a function of ours (sqlite_file.py). Blobs and passages need none, because their
-- ids are made from their content. A later migration that adds a column to one of these tables seals it again.

ALTER TABLE runs ADD COLUMN seal INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET seal = seal_of(
    id, created_at, updated_at, status, request, wiring, folder, code_version, epoch, attempt, owner, claimed_at,
    cancel_requested, active_s, pending, result, error
);

ALTER TABLE answers ADD COLUMN seal INTEGER NOT NULL DEFAULT 0;
UPDATE answers SET seal = seal_of(
    run, scope, answer
);

ALTER TABLE journal ADD COLUMN seal INTEGER NOT NULL DEFAULT 0;
UPDATE journal SET seal = seal_of(
    run, key, number, kind, scope, attempt, state, answer, error, estimate, spend, orphaned, started_at, ended_at,
    after, code_version, is_superseded
);

ALTER TABLE events ADD COLUMN seal INTEGER NOT NULL DEFAULT 0;
UPDATE events SET seal = seal_of(
    run, seq, at, kind, key, data
);

ALTER TABLE documents ADD COLUMN seal INTEGER NOT NULL DEFAULT 0;
UPDATE documents SET seal = seal_of(
    id, snapshot, text, about
);

ALTER TABLE run_documents ADD COLUMN seal INTEGER NOT NULL DEFAULT 0;
UPDATE run_documents SET seal = seal_of(
    run, address, document
);

ALTER TABLE evidence ADD COLUMN seal INTEGER NOT NULL DEFAULT 0;
UPDATE evidence SET seal = seal_of(
    run, passage, section, finding, score, header
);

PRAGMA user_version = 3;
