"""The Hessian of the Lagrangian as the subproblem needs it: positive definite, with current multipliers."""
