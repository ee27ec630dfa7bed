"""One policy a file; the file's name, with dashes, is the policy's id."""
