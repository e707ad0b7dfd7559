from lockstep import mean_payoff, require_choice
from opponent import answer

PAYOFFS = ((3, 0), (5, 1))
"""By the submission's move, then by the opponent's: 0 cooperates, 1 defects."""


def evaluate(submission):
    return {"Score": mean_payoff(submission, answer, payoff)}


def payoff(move, answered):
    require_choice(move)
    return PAYOFFS[move][answered]
