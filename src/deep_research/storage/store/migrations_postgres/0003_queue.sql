-- What a queue of runs needs: whether failed steps are to be done again, and how often a run was taken over from a
-- process that did not let go of it (in all, and since the last call that ended). Switches that all processes obey.

ALTER TABLE runs ADD COLUMN retry_requested BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE runs ADD COLUMN takeovers BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN idle_takeovers BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN calls_at_claim BIGINT NOT NULL DEFAULT 0;
CREATE TABLE switches (name TEXT COLLATE "C" PRIMARY KEY, is_on BOOLEAN NOT NULL);
