-- Content that lies outside the database: the name of its object; `packed` is empty then.

ALTER TABLE blobs ADD COLUMN object TEXT COLLATE "C";
