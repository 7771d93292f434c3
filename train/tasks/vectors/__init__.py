"""Tasks of word vectors."""
