import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

# The README is gone through once: what it shows is NumPy's.
collect_ignore = [] if os.environ.get("FRAMEWORK", "numpy") == "numpy" else ["test_readme.py"]
