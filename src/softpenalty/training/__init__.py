"""Constraints in training loops that stay the user's own: one module for PyTorch, one for JAX.

``from softpenalty.training import torch as sp``, or ``jax as sp``; nothing else imports these libraries.
"""
