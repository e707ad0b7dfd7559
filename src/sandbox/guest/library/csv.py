"""Lets `field_size_limit` of `csv` return limits that are larger than a size of the machine."""

_limit_of_machine = field_size_limit
_limit = field_size_limit()


def field_size_limit(*new_limit):
    """Sets an upper limit on parsed fields, and returns the old limit."""
    global _limit
    old = _limit
    _limit_of_machine(*new_limit)
    if new_limit:
        _limit = int(new_limit[0])
    return old
