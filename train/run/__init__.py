"""A training run: the loop, its folder and its logs."""
