def fit(rows, prices):
    """What `predict` needs to know of flats whose prices are known: numbers, texts, lists and dicts."""
    return sum(prices) / len(prices)


def predict(parameters, rows):
    """The price of each flat. A row is a list of area, rooms, age and distance."""
    return [parameters for _ in rows]
