"""Tensor: the class, its methods, and the functions that make one from nothing."""
