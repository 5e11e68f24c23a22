"""The dense algorithm: penalty QP, balanced merit, rebuilt curvature. The loop is in `loop.py`."""
