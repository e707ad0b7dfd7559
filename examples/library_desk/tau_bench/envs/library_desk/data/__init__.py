import json
import os

FOLDER = os.path.dirname(__file__)


def load_data():
    return {name: _load(name) for name in ("books", "members")}


def _load(name):
    with open(os.path.join(FOLDER, f"{name}.json"), encoding="utf-8") as file:
        return json.load(file)
