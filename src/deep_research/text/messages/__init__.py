"""Fixed words of reports and shells in every language we write. Does not translate what sources say."""
