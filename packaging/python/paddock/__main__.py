"""``python -m paddock`` is the command ``paddock``."""

from .launcher import main

main()
