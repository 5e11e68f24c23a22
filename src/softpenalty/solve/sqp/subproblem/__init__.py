"""The penalty QP of one iteration, three ways to its solution."""
