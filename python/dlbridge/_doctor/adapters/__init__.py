"""Adapters: all that the doctor knows of each framework. Each is imported on first use."""
