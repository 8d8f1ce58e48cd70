"""The web: connections and their guard, search, pages, what is kept of answers, and limits of services."""
