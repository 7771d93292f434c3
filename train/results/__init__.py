"""What a run has left, and what is made of it: texts, pictures, comparisons, other formats."""
