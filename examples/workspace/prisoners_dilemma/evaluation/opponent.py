"""An opponent of many minds: each of its moves comes from one of eleven well-known strategies."""

import random

COOPERATE, DEFECT = 0, 1


def answer(history):
    """The next move; each round so far is the other player's move and the own one."""
    return random.choice(STRATEGIES)(history)


def cooperator(history):
    return COOPERATE


def defector(history):
    return DEFECT


def coin(history):
    return random.choice((COOPERATE, DEFECT))


def tit_for_tat(history, first=COOPERATE):
    return history[-1][0] if history else first


def suspicious(history):
    return tit_for_tat(history, first=DEFECT)


def patient(history):
    """Defects when it was defected against twice running."""
    return DEFECT if [theirs for theirs, _ in history[-2:]] == [DEFECT, DEFECT] else COOPERATE


def forgiving(history):
    """Tit for tat that lets two defections running pass."""
    return COOPERATE if patient(history) == DEFECT else tit_for_tat(history)


def grim(history):
    return DEFECT if any(theirs == DEFECT for theirs, _ in history) else COOPERATE


def pavlov(history):
    """Cooperates after a round in which both did the same."""
    return COOPERATE if not history or history[-1][0] == history[-1][1] else DEFECT


def noisy(history):
    """Mostly goes on as before, often cooperates, and now and then does the opposite of the other player."""
    if not history:
        return DEFECT
    theirs, own = history[-1]
    return random.choices((COOPERATE, DEFECT, own, 1 - theirs), weights=(20, 13, 24, 3))[0]


STRATEGIES = (
    noisy,
    tit_for_tat,
    cooperator,
    defector,
    coin,
    grim,
    pavlov,
    patient,
    suspicious,
    coin,
    forgiving,
)
"""The coin is there twice: as the player of chance, and as the one who cooperates half of the time."""
