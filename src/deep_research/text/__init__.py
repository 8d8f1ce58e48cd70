"""The text foundation: folding, terms, sentences, languages, quantities and dates. Pure; opens nothing."""
