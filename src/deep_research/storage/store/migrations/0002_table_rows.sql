-- A table row is evidence together with the header row it stands under.
ALTER TABLE evidence ADD COLUMN header TEXT NOT NULL DEFAULT '';

PRAGMA user_version = 2;
