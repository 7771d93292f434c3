"""Tasks whose examples are pairs of strings, for an encoder and a decoder."""
