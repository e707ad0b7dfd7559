"""Plays many games at the same time, so that a round of all of them is one question to the submission."""

GAMES = 10_000
ROUNDS = 10


def mean_payoff(submission, opponent, payoff):
    """
    What a round is worth to the submission's `row_strategy`, on average. `opponent` takes the history of a game, and
    `payoff` both moves; it raises when the submission's is none.
    """
    histories = [[] for _ in range(GAMES)]
    total = 0
    for _ in range(ROUNDS):
        moves = submission.map("strategy.row_strategy", [(history,) for history in histories])
        for history, move in zip(histories, moves):
            answer = opponent(history)
            total += payoff(move, answer)
            history.append((move, answer))
    return total / (GAMES * ROUNDS)


def require_choice(move):
    """Refuses what is neither of two moves."""
    if type(move) is not int or move not in (0, 1):
        raise ValueError(f"row_strategy must give 0 or 1: it gave {str(move)[:80]}")
