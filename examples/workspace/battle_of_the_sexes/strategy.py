import random

FIRST = 0

CHOOSES_1 = {(0, 0): 0.1, (0, 1): 0.8, (1, 0): 0.2, (1, 1): 0.9}
"""How likely the next move is a 1, by the last round: the own move, then the opponent's."""


def row_strategy(history):
    """The next move, 0 or 1. `history` is a list of the rounds so far: tuples of the own move and the opponent's."""
    if not history:
        return FIRST
    return 1 if random.random() < CHOOSES_1[history[-1]] else 0
