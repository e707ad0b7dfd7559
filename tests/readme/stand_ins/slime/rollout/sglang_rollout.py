"""Replaces slime."""


class GenerateState:
    """State without a tokenizer."""
