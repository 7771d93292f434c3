"""How results look: numbers as text, formulas as mathematics, and what a notebook shows of them."""
