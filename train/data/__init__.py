"""Text as integers: reading it, its characters as symbols, and blocks of it for training."""

from .stream import TokenStream
from .text import DataError, default_corpus, fingerprint, load_text
from .tokenizer import CharTokenizer

__all__ = [
    "CharTokenizer",
    "DataError",
    "TokenStream",
    "default_corpus",
    "fingerprint",
    "load_text",
]
