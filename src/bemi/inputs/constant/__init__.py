"""Appends a constant input, which stands in for the bias that neurons do not have."""
