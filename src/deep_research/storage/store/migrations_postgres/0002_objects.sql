\ir ../migrations/0005_objects.sql
