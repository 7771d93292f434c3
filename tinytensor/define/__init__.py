"""How an op is defined, called, listed and explained; begin with ``op.py``."""
