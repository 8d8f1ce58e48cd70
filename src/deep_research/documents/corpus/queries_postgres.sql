-- The statements of the index that PostgreSQL needs in other words than queries.sql has.

-- name: folder
SELECT id FROM corpus_folders
WHERE digest_of(path) = digest_of(:path) AND digest_of(maker) = digest_of(:maker)

-- name: add_folder
INSERT INTO corpus_folders (path, maker) VALUES (:path, :maker)
ON CONFLICT (digest_of(path), digest_of(maker)) DO UPDATE SET path = excluded.path RETURNING id

-- name: folders
SELECT path, passages, refreshed,
    (SELECT count(*) FROM corpus_files WHERE folder = corpus_folders.id) AS files,
    (SELECT count(*) FROM corpus_files WHERE folder = corpus_folders.id AND reason != '') AS skipped,
    (SELECT count(*) FROM corpus_documents WHERE folder = corpus_folders.id) AS documents
FROM corpus_folders WHERE maker = :maker ORDER BY path

-- Whatever version indexed it.
-- name: drop_folder
DELETE FROM corpus_folders WHERE path = (SELECT path FROM corpus_folders AS own WHERE own.id = :folder)

-- Copies of a folder's files; uploaded ones are not the index's to remove.
-- name: drop_copies
DELETE FROM corpus_originals
WHERE path = (SELECT path FROM corpus_folders WHERE id = :folder) AND NOT starts_with(path, 'collection:')

-- Writers of one folder take turns.
-- name: lock_folder
SELECT id FROM corpus_folders WHERE id = :folder FOR NO KEY UPDATE

-- name: claim_folder
UPDATE corpus_folders SET claimed_by = :owner, claimed_until = clock_timestamp() + make_interval(secs => :lease_s)
WHERE id = :folder AND (claimed_by = :owner OR claimed_until < clock_timestamp())

-- name: release_folder
UPDATE corpus_folders SET claimed_until = '-infinity' WHERE id = :folder AND claimed_by = :owner

-- Of a folder that this version has just indexed, what a version left behind that has not looked at it for long.
-- name: drop_outdated
DELETE FROM corpus_folders USING corpus_folders AS own
WHERE own.id = :folder AND corpus_folders.path = own.path AND corpus_folders.maker != own.maker
    AND corpus_folders.refreshed < to_char((now() - interval '7 days') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')

-- New terms wait in a list that every search looks through; this puts them into the index.
-- name: sort_in_new_terms
SELECT gin_clean_pending_list('corpus_terms_by_lexeme') AS pages

-- name: file
SELECT content, reason FROM corpus_files
WHERE folder = :folder AND digest_of(address) = digest_of(:address)

-- name: put_file
INSERT INTO corpus_files (folder, address, size, mtime_ns, content, reason)
VALUES (:folder, :address, :size, :mtime_ns, :content, :reason)
ON CONFLICT (folder, digest_of(address)) DO UPDATE SET
    size = excluded.size, mtime_ns = excluded.mtime_ns, content = excluded.content, reason = excluded.reason

-- name: drop_file
DELETE FROM corpus_files WHERE folder = :folder AND digest_of(address) = digest_of(:address)

-- name: first_address
SELECT min(address) AS address FROM corpus_files WHERE folder = :folder AND content = :content AND reason = ''

-- name: set_refreshed
UPDATE corpus_folders SET refreshed = to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') WHERE id = :folder

-- name: document_of_address
SELECT corpus_documents.id AS document, title, author, language, published
FROM corpus_files JOIN corpus_documents USING (folder, content)
WHERE corpus_files.folder = :folder AND digest_of(corpus_files.address) = digest_of(:address)

-- name: shared_bands
WITH each AS MATERIALIZED (
    SELECT corpus_documents.id AS document, value AS band
    FROM corpus_documents, jsonb_array_elements_text(bands::jsonb) AS value WHERE folder = :folder
)
SELECT document, string_agg(band, ',') AS bands FROM each
WHERE band IN (SELECT band FROM each GROUP BY band HAVING count(*) > 1) GROUP BY document

-- name: put_terms
INSERT INTO corpus_terms (passage, length, repeated, lexemes)
VALUES (:id, :length, :repeated::jsonb, :lexemes::tsvector)

-- name: drop_terms
DELETE FROM corpus_terms WHERE passage = :id

-- name: change_vocabulary
INSERT INTO corpus_vocabulary AS known (folder, term, passages)
SELECT :folder::bigint, key, value::bigint FROM jsonb_each_text(:counts::jsonb)
ON CONFLICT (folder, term) DO UPDATE SET passages = known.passages + excluded.passages

-- name: drop_unused_terms
DELETE FROM corpus_vocabulary
WHERE folder = :folder AND passages = 0 AND term IN (SELECT jsonb_object_keys(:counts::jsonb))

-- name: counts
SELECT term, passages FROM corpus_vocabulary
WHERE folder = :folder AND term IN (SELECT jsonb_array_elements_text(:terms::jsonb))

-- name: terms_like
SELECT term FROM corpus_vocabulary
WHERE folder = :folder AND term >= :first AND term < :next AND length(term) BETWEEN :least AND :most

-- The BM25 of FTS5 (k1 1.2, b 0.75), term by term: `query` finds the passages that a term counts in.
-- name: best
SELECT found.passage AS id, sum(
    asked.idf * found.count * 2.2::float8
    / (found.count + 1.2::float8 * (0.25::float8 + 0.75::float8 * found.length / :average::float8))
) AS score
FROM jsonb_to_recordset(:asked::jsonb) AS asked (query TEXT, term TEXT, idf FLOAT8)
CROSS JOIN LATERAL (
    SELECT passage, length, coalesce((repeated ->> asked.term)::float8, 1) AS count
    FROM corpus_terms WHERE lexemes @@ asked.query::tsquery
) AS found
GROUP BY found.passage ORDER BY score DESC, id LIMIT :limit

-- name: candidates
SELECT corpus_passages.id, document, address, title, author, language, published, start, "end", terms, title_terms
FROM corpus_passages JOIN corpus_documents ON corpus_documents.id = document
WHERE corpus_passages.id IN (SELECT jsonb_array_elements_text(:ids::jsonb)::bigint)

-- name: first_passages
SELECT min(id) AS id FROM corpus_passages
WHERE document IN (SELECT jsonb_array_elements_text(:documents::jsonb)::bigint) GROUP BY document

-- name: documents_by_name
SELECT id, name_terms FROM corpus_documents WHERE folder = :folder AND twin_of IS NULL
    AND digest_of(name_key) IN (SELECT digest_of(value) FROM jsonb_array_elements_text(:keys::jsonb) AS value)
ORDER BY name_terms, address LIMIT 500

-- The files themselves

-- name: put_original
INSERT INTO corpus_originals (path, address, size, mtime_ns, data) VALUES (:path, :address, :size, :mtime_ns, :data)
ON CONFLICT (digest_of(path), digest_of(address)) DO UPDATE SET
    size = excluded.size, mtime_ns = excluded.mtime_ns, data = excluded.data

-- name: original
SELECT address, size, mtime_ns, data FROM corpus_originals
WHERE digest_of(path) = digest_of(:path) AND digest_of(address) = digest_of(:address)

-- name: originals
SELECT address, size, mtime_ns FROM corpus_originals WHERE digest_of(path) = digest_of(:path)

-- name: drop_original
DELETE FROM corpus_originals
WHERE digest_of(path) = digest_of(:path) AND digest_of(address) = digest_of(:address)

-- name: drop_originals
DELETE FROM corpus_originals WHERE digest_of(path) = digest_of(:path)

-- name: paths_of_originals
SELECT DISTINCT path FROM corpus_originals WHERE starts_with(path, :prefix)
