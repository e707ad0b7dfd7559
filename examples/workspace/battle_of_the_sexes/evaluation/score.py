import random

from lockstep import mean_payoff, require_choice

PAYOFFS = (2, 1)
"""What it is worth to the submission that both choose 0, and that both choose 1."""
FAITH = 0.8


def evaluate(submission):
    return {"Score": mean_payoff(submission, answer, payoff)}


def payoff(move, answered):
    require_choice(move)
    return PAYOFFS[move] if move == answered else 0


def answer(history):
    """The opponent asks for 1 at first; then it mostly gives what the other player asked for in the first round."""
    if not history:
        return 1
    first, _ = history[0]
    return first if random.random() < FAITH else 1 - first
