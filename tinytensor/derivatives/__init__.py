"""Derivatives of functions (vjp, jacobian, hessian, ...), and the check of any gradient."""
