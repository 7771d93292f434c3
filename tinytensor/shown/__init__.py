"""How results look: numbers as text, and what a notebook shows of them."""
