"""Pages that need nothing but themselves: ``make pages`` builds them, page.py fills in data."""
