"""Objects: as plain data, as code that can be pasted, and how they are made."""
