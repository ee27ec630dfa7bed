"""The published values, one file a subject."""
