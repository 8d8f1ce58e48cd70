"""Does the passage carry the sentence: verdicts by code alone."""
