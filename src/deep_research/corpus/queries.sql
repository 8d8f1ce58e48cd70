-- The statements of the index, by name. `{folder}` is the number of a folder: each has a term table of its own, so
-- that scores and frequencies are those of the folder, whatever else is indexed.

-- name: create_terms
CREATE VIRTUAL TABLE terms_{folder} USING fts5(
    title, body, content='', tokenize="unicode61 remove_diacritics 0 categories 'L* N* Co M*' tokenchars '.'"
)

-- name: create_vocabulary
CREATE VIRTUAL TABLE vocabulary_{folder} USING fts5vocab('terms_{folder}', 'row')

-- name: maker
SELECT code FROM maker

-- name: sign
INSERT INTO maker (code) VALUES (:code)

-- name: tables
SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'

-- name: folder
SELECT id FROM folders WHERE path = :path

-- name: add_folder
INSERT INTO folders (path) VALUES (:path)

-- name: files
SELECT address, size, mtime_ns, content, reason, remarks FROM files WHERE folder = :folder

-- name: put_file
INSERT OR REPLACE INTO files (folder, address, size, mtime_ns, content, reason, remarks)
VALUES (:folder, :address, :size, :mtime_ns, :content, :reason, :remarks)

-- name: drop_file
DELETE FROM files WHERE folder = :folder AND address = :address

-- name: contents
SELECT content, address FROM documents WHERE folder = :folder

-- name: document_of_content
SELECT id, address, title FROM documents WHERE folder = :folder AND content = :content

-- name: document_of_address
SELECT documents.id AS document, title, language, published FROM files JOIN documents USING (folder, content)
WHERE files.folder = :folder AND files.address = :address

-- name: documents_at
SELECT id, content, title FROM documents WHERE folder = :folder AND address = :address

-- name: put_document
INSERT INTO documents (folder, content, address, title, language, published)
VALUES (:folder, :content, :address, :title, :language, :published)

-- name: drop_document
DELETE FROM documents WHERE id = :document

-- name: put_text
INSERT INTO texts (document, block, data) VALUES (:document, :block, :data)

-- name: text_blocks
SELECT data FROM texts WHERE document = :document AND block BETWEEN :first AND :last ORDER BY block

-- name: drop_text
DELETE FROM texts WHERE document = :document

-- name: put_passage
INSERT INTO passages (document, start, "end") VALUES (:document, :start, :end)

-- name: passages_of
SELECT id, start, "end" FROM passages WHERE document = :document ORDER BY id

-- name: drop_passages
DELETE FROM passages WHERE document = :document

-- name: put_terms
INSERT INTO terms_{folder} (rowid, title, body) VALUES (:id, :title, :body)

-- name: drop_terms
INSERT INTO terms_{folder} (terms_{folder}, rowid, title, body) VALUES ('delete', :id, :title, :body)

-- name: passage_count
SELECT passages FROM folders WHERE id = :folder

-- name: count_passages
UPDATE folders SET passages = passages + :change WHERE id = :folder

-- name: frequency
SELECT doc FROM vocabulary_{folder} WHERE term = :term

-- name: ranked
SELECT rowid AS id, bm25(terms_{folder}, 3.0, 1.0) AS cost FROM terms_{folder} WHERE terms_{folder} MATCH :match
ORDER BY cost

-- name: passage
SELECT documents.id AS document, address, title, language, published, start, "end"
FROM passages JOIN documents ON documents.id = passages.document WHERE passages.id = :id
