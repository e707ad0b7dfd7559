import random
from operator import gt, lt

from lockstep import mean_payoff

FIELDS = 6
SOLDIERS = 120


def evaluate(submission):
    return {"Score": mean_payoff(submission, answer, payoff)}


def payoff(allocation, other):
    """1 for who holds more fields, -1 for who holds fewer, 0 for a tie."""
    require_allocation(allocation)
    won, lost = sum(map(gt, allocation, other)), sum(map(lt, allocation, other))
    return (won > lost) - (won < lost)


def require_allocation(allocation):
    """Refuses what is no army."""
    if type(allocation) not in (list, tuple) or len(allocation) != FIELDS:
        raise ValueError(f"row_strategy must give a list of {FIELDS} numbers: it gave {str(allocation)[:80]}")
    if set(map(type, allocation)) != {int} or min(allocation) < 0:
        raise ValueError(f"soldiers must be whole numbers from 0 on: row_strategy gave {str(allocation)[:80]}")
    if sum(allocation) > SOLDIERS:
        raise ValueError(f"there are {SOLDIERS} soldiers: row_strategy sent {str(sum(allocation))[:80]}")


def answer(history):
    """The opponent gives each field a weight by chance, and all that rounding leaves over to one of them."""
    weights = random.choices(range(SOLDIERS + 1), k=FIELDS)
    whole = sum(weights) or 1
    allocation = [weight * SOLDIERS // whole for weight in weights]
    allocation[random.randrange(FIELDS)] += SOLDIERS - sum(allocation)
    return allocation
