import random

from lockstep import mean_payoff

FIELDS = 6
SOLDIERS = 120


def evaluate(submission):
    return {"Score": mean_payoff(submission, answer, payoff)}


def payoff(allocation, other):
    """1 for who holds more fields, -1 for who holds fewer, 0 for a tie."""
    require_allocation(allocation)
    lead = 0
    for own, theirs in zip(allocation, other):
        if own != theirs:
            lead += 1 if own > theirs else -1
    return (lead > 0) - (lead < 0)


def require_allocation(allocation):
    """Refuses what is no army."""
    if type(allocation) not in (list, tuple) or len(allocation) != FIELDS:
        raise ValueError(f"row_strategy must give a list of {FIELDS} numbers: it gave {str(allocation)[:80]}")
    if any(type(soldiers) is not int or soldiers < 0 for soldiers in allocation):
        raise ValueError(f"soldiers must be whole numbers from 0 on: row_strategy gave {str(allocation)[:80]}")
    if sum(allocation) > SOLDIERS:
        raise ValueError(f"there are {SOLDIERS} soldiers: row_strategy sent {str(sum(allocation))[:80]}")


def answer(history):
    """The opponent gives each field a weight by chance, and all that rounding leaves over to one of them."""
    weights = [int(random.random() * (SOLDIERS + 1)) for _ in range(FIELDS)]
    whole = sum(weights) or 1
    allocation = [weight * SOLDIERS // whole for weight in weights]
    allocation[random.randrange(FIELDS)] += SOLDIERS - sum(allocation)
    return allocation
