import os

with open(os.path.join(os.path.dirname(__file__), "wiki.md"), encoding="utf-8") as file:
    WIKI = file.read()
