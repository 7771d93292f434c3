"""Text as integers: reading it, its characters as symbols, and blocks of it for training."""

from .corpus import Corpus, TextFiles, TextString, corpus_of, help_topics
from .errors import DataError
from .stream import TokenStream, spread
from .text import default_corpus, fingerprint, load_text
from .tokenizer import CharTokenizer

__all__ = [
    "CharTokenizer",
    "Corpus",
    "DataError",
    "TextFiles",
    "TextString",
    "TokenStream",
    "corpus_of",
    "default_corpus",
    "fingerprint",
    "help_topics",
    "load_text",
    "spread",
]
