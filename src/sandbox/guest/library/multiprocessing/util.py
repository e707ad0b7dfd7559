# Additions to `multiprocessing.util`.

def _close_stdin():
    """Gives a child an empty stdin. The stream is also that of its parent, and stays open."""
    try:
        sys.stdin = open(os.devnull, encoding="utf-8")
    except (OSError, TypeError):
        pass  # a program has replaced `open`
