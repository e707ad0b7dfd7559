"""Writes the data of the task, the same each time: what an agent sees, and what its predictions are held against."""

import csv
import random
from pathlib import Path

HERE = Path(__file__).parent
FIELDS = ["area", "rooms", "age", "distance", "price"]


def main():
    chance = random.Random(20)
    write(HERE / "data" / "train.csv", [flat(chance) for _ in range(240)])
    write(HERE / "evaluation" / "test.csv", [flat(chance) for _ in range(120)])


def flat(chance):
    """The rent of a flat hangs on its size, its rooms and its place, on its age less and less, and on luck."""
    area = chance.uniform(20, 140)
    rooms = max(1, round(area / 28 + chance.gauss(0, 0.7)))
    age = chance.uniform(0, 100)
    distance = chance.expovariate(1 / 6)
    price = 220 + 9.5 * area + 35 * rooms - 28 * age**0.5 - 22 * distance + chance.gauss(0, 45)
    return [round(area, 1), rooms, round(age), round(distance, 1), round(price)]


def write(path, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([FIELDS, *rows])


main()
