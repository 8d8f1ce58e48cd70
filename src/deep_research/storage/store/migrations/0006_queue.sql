-- What a queue of runs needs: whether failed steps are to be done again, and how often a run was taken over from a
-- process that did not let go of it (in all, and since the last call that ended). Switches that all processes obey.

ALTER TABLE runs ADD COLUMN retry_requested INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN takeovers INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN idle_takeovers INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN calls_at_claim INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET seal = seal_of(
    id, created_at, updated_at, status, request, wiring, folder, code_version, epoch, attempt, owner, claimed_at,
    cancel_requested, active_s, pending, result, error, user, tags, retry_requested, takeovers, idle_takeovers,
    calls_at_claim
);
CREATE TABLE switches (name TEXT PRIMARY KEY, is_on INTEGER NOT NULL);

PRAGMA user_version = 6;
