"""Objects: as plain data, as code to paste, and their generation."""
