"""`python -m dlbridge doctor`: what becomes of a tensor between each two frameworks that
are here.
"""
