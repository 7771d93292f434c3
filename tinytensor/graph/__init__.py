"""The graph: its nodes, the walk back through it, and what guards what it has kept."""
