"""The inputs and one more that is always the same, which stands in for the bias that neurons do not have."""
