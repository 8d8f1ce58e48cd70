"""Charts: their one style, and the fixed program that draws line and bar charts from rows of data."""
