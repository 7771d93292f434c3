"""How an op is defined, called and written as mathematics; begin with ``op.py``."""
