\ir ../migrations/0002_question_collections.sql
