import random

FIELDS = 6
SOLDIERS = 120


def row_strategy(history):
    """
    How many soldiers go to each field. `history` is a list of the rounds so far: tuples of the own allocation and the
    opponent's.
    """
    cuts = sorted(random.choices(range(SOLDIERS + 1), k=FIELDS - 1))
    return [end - start for start, end in zip([0, *cuts], [*cuts, SOLDIERS])]
