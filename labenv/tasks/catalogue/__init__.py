"""One task a file; the file's name, with dashes, is the task's id."""
