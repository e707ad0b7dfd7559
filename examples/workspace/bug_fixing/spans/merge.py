def merge(spans):
    """The same numbers in as few spans as can be, in order; spans that overlap or touch become one."""
    merged = []
    for first, last in spans:
        if merged and first <= merged[-1][1]:
            merged[-1][1] = last
        else:
            merged.append([first, last])
    return merged


def gaps(spans):
    """The spans between those of a list."""
    merged = merge(spans)
    return [[before[1], after[0]] for before, after in zip(merged, merged[1:])]


def total(spans):
    """How many numbers there are in all, none counted twice."""
    return sum(last - first for first, last in merge(spans))
