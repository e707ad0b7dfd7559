"""Makes data that differ from given data, but look similar."""


def decoys_of(value, random, count=5):
    """Returns up to `count` different values of the same type, none of which equals the value."""
    decoys = []
    for _ in range(8 * count):
        decoy = _changed(value, random)
        if decoy != value and decoy not in decoys:
            decoys.append(decoy)
        if len(decoys) == count:
            break
    return decoys


def _changed(value, random):
    if value is None or isinstance(value, bool):
        return random.choice([None, True, False, 2])
    if isinstance(value, (int, float)):
        return value + random.choice([-1, 1]) * random.choice([1, 2, 3, 5, 7, 10, 12, 20, 50])
    if isinstance(value, str):
        return _changed_sequence(value, random.choice(value or "a") + random.choice("aeinorst"), random)
    if isinstance(value, (list, tuple)):
        changed = list(value)
        place = random.randrange(len(value)) if value else 0
        if value and random.random() < 0.7:
            changed[place] = _changed(changed[place], random)
        elif value and random.random() < 0.5:
            del changed[place]
        else:
            changed.insert(place, random.choice(value) if value else random.randrange(10))
        return type(value)(changed) if type(value) in (list, tuple) else tuple(changed)
    if isinstance(value, dict):
        changed = dict(value)
        key = random.choice(list(value)) if value else 1
        changed[key] = _changed(changed.get(key, 1), random)
        return changed
    if isinstance(value, (set, frozenset)):
        return value ^ {random.randrange(10)}
    return random.randrange(100)


def _changed_sequence(text, addition, random):
    place = random.randrange(len(text) + 1)
    return random.choice([text[:place] + addition[0] + text[place:], text[:place] + text[place + 1 :] + addition[1:]])
