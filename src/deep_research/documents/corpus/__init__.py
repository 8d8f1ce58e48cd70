"""A folder of the user's documents as something that can be searched and fetched."""
