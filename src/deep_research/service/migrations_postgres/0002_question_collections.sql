-- Collections made for one question; those of a question that nobody asked are removed after a day.
CREATE TABLE question_collections (
    collection TEXT COLLATE "C" PRIMARY KEY REFERENCES collections (id) ON DELETE CASCADE,
    is_asked   INTEGER NOT NULL DEFAULT 0
);
