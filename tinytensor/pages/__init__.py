"""Pages that need nothing but themselves: made from src/ by ``make pages``, filled here with data."""
