"""Replaces the parts of `webbrowser` that need a browser: a sandbox has none, like a server without a display."""


def open(url, new=0, autoraise=True):
    """Returns False: no browser could be opened."""
    return False


def open_new(url):
    """Returns False: no browser could be opened."""
    return open(url, 1)


def open_new_tab(url):
    """Returns False: no browser could be opened."""
    return open(url, 2)


def get(using=None):
    """Raises an error, as there is no browser."""
    raise Error("could not locate runnable browser")
