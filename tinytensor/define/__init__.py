"""How an op is defined and called; begin with ``op.py``."""
