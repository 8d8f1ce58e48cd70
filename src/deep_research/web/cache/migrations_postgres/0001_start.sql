-- What searches, pages and plans gave, for all hosts. Not logged: nothing waits for the disk, and a crash of the database
-- empties it. Values come compressed.
\ir ../migrations/0001_start.sql

ALTER TABLE kept ALTER bytes TYPE BIGINT, ALTER value SET STORAGE EXTERNAL;
ALTER TABLE kept SET UNLOGGED;
