"""Replaces slime."""


class Sample:
    """Sample with the fields of a reward."""

    def __init__(self, response, label, metadata=None):
        self.response, self.label, self.metadata, self.remove_sample = response, label, metadata or {}, False
