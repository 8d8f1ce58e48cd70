-- The statements of the index, by name. `{folder}` is the number of a folder: each has a term table of its own, so
-- that scores and frequencies are those of the folder, whatever else is indexed.

-- name: create_terms
CREATE VIRTUAL TABLE terms_{folder} USING fts5(
    title, body, content='', tokenize="unicode61 remove_diacritics 0 categories 'L* N* Co M*' tokenchars '.'"
)

-- name: create_vocabulary
CREATE VIRTUAL TABLE vocabulary_{folder} USING fts5vocab('terms_{folder}', 'row')

-- name: drop_vocabulary_table
DROP TABLE IF EXISTS vocabulary_{folder}

-- name: drop_terms_table
DROP TABLE IF EXISTS terms_{folder}

-- name: maker
SELECT code FROM maker

-- name: sign
INSERT INTO maker (code) VALUES (:code)

-- name: tables
SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'

-- name: folder
SELECT id FROM corpus_folders WHERE path = :path

-- name: add_folder
INSERT INTO corpus_folders (path) VALUES (:path) RETURNING id

-- name: folders
SELECT path, passages, refreshed,
    (SELECT count(*) FROM corpus_files WHERE folder = corpus_folders.id) AS files,
    (SELECT count(*) FROM corpus_files WHERE folder = corpus_folders.id AND reason != '') AS skipped,
    (SELECT count(*) FROM corpus_documents WHERE folder = corpus_folders.id) AS documents
FROM corpus_folders ORDER BY path

-- name: drop_folder
DELETE FROM corpus_folders WHERE id = :folder

-- name: drop_folder_files
DELETE FROM corpus_files WHERE folder = :folder

-- name: drop_folder_documents
DELETE FROM corpus_documents WHERE folder = :folder

-- name: drop_folder_passages
DELETE FROM corpus_passages WHERE document IN (SELECT id FROM corpus_documents WHERE folder = :folder)

-- name: drop_folder_texts
DELETE FROM corpus_texts WHERE document IN (SELECT id FROM corpus_documents WHERE folder = :folder)

-- name: catalogue
SELECT address, title, author, language, published, remarks, words, pages,
    (SELECT count(*) FROM corpus_passages WHERE document = corpus_documents.id) AS passages,
    (SELECT address FROM corpus_documents AS shown WHERE shown.id = corpus_documents.twin_of) AS original
FROM corpus_documents WHERE folder = :folder ORDER BY address

-- `is_settled` says that a file need not be looked into again as long as its size and time stay the same.
-- name: known_files
SELECT address, size, mtime_ns, reason != '' OR EXISTS (
    SELECT 1 FROM corpus_documents WHERE folder = :folder AND corpus_documents.content = corpus_files.content
) AS is_settled
FROM corpus_files WHERE folder = :folder AND address > :after ORDER BY address LIMIT :limit

-- The notes of a refresh, in a file of its own that is gone when it is closed. `known` is the state in which the index
-- knows a file, NULL where it must be looked into again; `size` and `mtime_ns` are its state now, NULL where it is gone.

-- name: create_notes
CREATE TABLE notes (
    address TEXT PRIMARY KEY, known TEXT, size INTEGER, mtime_ns INTEGER,
    is_changed AS (size IS NOT NULL AND known IS NOT size || ' ' || mtime_ns)
) WITHOUT ROWID

-- name: note_known
INSERT INTO notes (address, known) VALUES (:address, iif(:is_settled, :size || ' ' || :mtime_ns, NULL))

-- name: note_seen
INSERT INTO notes (address, size, mtime_ns) VALUES (:address, :size, :mtime_ns)
ON CONFLICT (address) DO UPDATE SET size = excluded.size, mtime_ns = excluded.mtime_ns

-- name: count_noted
SELECT count(size) AS seen, count(*) FILTER (WHERE is_changed) AS changed FROM notes

-- name: changed_files
SELECT address, size, mtime_ns FROM notes WHERE is_changed ORDER BY address

-- name: gone_files
SELECT address FROM notes WHERE size IS NULL ORDER BY address

-- What is known of each file.

-- name: file
SELECT content, reason FROM corpus_files WHERE folder = :folder AND address = :address

-- name: put_file
INSERT OR REPLACE INTO corpus_files (folder, address, size, mtime_ns, content, reason)
VALUES (:folder, :address, :size, :mtime_ns, :content, :reason)

-- name: drop_file
DELETE FROM corpus_files WHERE folder = :folder AND address = :address

-- Without the hint SQLite walks through all addresses, because the least of them is asked for.
-- name: first_address
SELECT min(address) AS address FROM corpus_files INDEXED BY files_by_content WHERE folder = :folder AND content = :content AND reason = ''

-- name: survey
SELECT count(*) AS documents FROM corpus_documents WHERE folder = :folder AND twin_of IS NULL

-- name: unusable
SELECT address, reason FROM corpus_files WHERE folder = :folder AND reason != '' ORDER BY address

-- name: remarks
SELECT corpus_files.address, remarks, (SELECT address FROM corpus_documents AS shown WHERE shown.id = corpus_documents.twin_of) AS original
FROM corpus_documents JOIN corpus_files USING (folder, content)
WHERE corpus_documents.folder = :folder AND (remarks != '[]' OR twin_of IS NOT NULL) ORDER BY corpus_files.address

-- name: set_refreshed
UPDATE corpus_folders SET refreshed = strftime('%Y-%m-%dT%H:%M:%SZ', 'now') WHERE id = :folder

-- name: document
SELECT id, address, title, is_named, title_terms, twin_of AS duplicate_of FROM corpus_documents
WHERE folder = :folder AND content = :content

-- name: document_of_address
SELECT corpus_documents.id AS document, title, author, language, published
FROM corpus_files JOIN corpus_documents USING (folder, content)
WHERE corpus_files.folder = :folder AND corpus_files.address = :address

-- name: put_document
INSERT INTO corpus_documents (
    folder, content, address, title, is_named, author, language, published, remarks, chars, words, pages,
    title_terms, name_terms, name_key, bands
) VALUES (
    :folder, :content, :address, :title, :is_named, :author, :language, :published, :remarks, :chars, :words, :pages,
    :title_terms, :name_terms, :name_key, :bands
) RETURNING id

-- name: move_document
UPDATE corpus_documents SET address = :address, title = :title, title_terms = :title_terms, name_terms = :name_terms,
    name_key = :name_key WHERE id = :document

-- name: drop_document
DELETE FROM corpus_documents WHERE id = :document

-- name: put_text
INSERT INTO corpus_texts (document, block, data) VALUES (:document, :block, :data)

-- name: text_blocks
SELECT data FROM corpus_texts WHERE document = :document AND block BETWEEN :first AND :last ORDER BY block

-- name: drop_text
DELETE FROM corpus_texts WHERE document = :document

-- name: put_passage
INSERT INTO corpus_passages (document, start, "end", terms) VALUES (:document, :start, :end, :terms)

-- name: passages_of
SELECT start, "end" FROM corpus_passages WHERE document = :document ORDER BY id

-- name: terms_of
SELECT id, terms FROM corpus_passages WHERE document = :document ORDER BY id

-- name: drop_passages
DELETE FROM corpus_passages WHERE document = :document

-- name: put_terms
INSERT INTO terms_{folder} (rowid, title, body) VALUES (:id, :title, :body)

-- name: drop_terms
INSERT INTO terms_{folder} (terms_{folder}, rowid, title, body) VALUES ('delete', :id, :title, :body)

-- name: change_size
UPDATE corpus_folders SET passages = passages + :passages, terms = terms + :terms WHERE id = :folder

-- name: folder_state
SELECT passages, terms, is_settled FROM corpus_folders WHERE id = :folder

-- name: set_settled
UPDATE corpus_folders SET is_settled = :is_settled WHERE id = :folder

-- name: shared_bands
WITH each AS MATERIALIZED (
    SELECT corpus_documents.id AS document, value AS band FROM corpus_documents, json_each(bands) WHERE folder = :folder
)
SELECT document, group_concat(band) AS bands FROM each
WHERE band IN (SELECT band FROM each GROUP BY band HAVING count(*) > 1) GROUP BY document

-- name: duplicates
SELECT id FROM corpus_documents WHERE folder = :folder AND twin_of IS NOT NULL

-- name: document_row
SELECT id, address, published, chars, title_terms, CASE WHEN is_named THEN '' ELSE name_terms END AS name, twin_of AS duplicate_of
FROM corpus_documents WHERE id = :document

-- name: set_duplicate
UPDATE corpus_documents SET twin_of = :duplicate_of WHERE id = :document

-- name: duplicates_of
SELECT id, title_terms FROM corpus_documents WHERE twin_of = :document

-- name: terms_like
SELECT term FROM vocabulary_{folder} WHERE term >= :first AND term < :next AND length(term) BETWEEN :least AND :most

-- name: count_up_to
SELECT count(*) AS passages FROM (SELECT 1 FROM terms_{folder} WHERE terms_{folder} MATCH :match LIMIT :limit)

-- name: best
SELECT rowid AS id, bm25(terms_{folder}, 3.0, 1.0) AS cost FROM terms_{folder} WHERE terms_{folder} MATCH :match
ORDER BY cost, rowid LIMIT :limit

-- name: candidates
SELECT corpus_passages.id, document, address, title, author, language, published, start, "end", terms, title_terms
FROM corpus_passages JOIN corpus_documents ON corpus_documents.id = document
WHERE corpus_passages.id IN (SELECT value FROM json_each(:ids))

-- name: first_passages
SELECT min(id) AS id FROM corpus_passages WHERE document IN (SELECT value FROM json_each(:documents)) GROUP BY document

-- name: documents_by_name
SELECT id, name_terms FROM corpus_documents WHERE folder = :folder AND twin_of IS NULL
    AND name_key IN (SELECT value FROM json_each(:keys))
ORDER BY name_terms, address LIMIT 500
