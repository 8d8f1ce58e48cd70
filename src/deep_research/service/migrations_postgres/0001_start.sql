-- The tables of SQLite in PostgreSQL's words.
\ir ../migrations/0001_start.sql

-- Ann and ann are one.
ALTER TABLE users DROP CONSTRAINT users_name_key;
CREATE UNIQUE INDEX users_by_name ON users (lower(name));
ALTER TABLE files ALTER bytes TYPE BIGINT;
