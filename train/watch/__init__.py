"""Watching a run while it learns: what is looked at and how often, and the page that shows it."""
