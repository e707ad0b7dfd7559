import collections
import json
import re

text = open("/app/notes.txt").read().lower()
counts = collections.Counter(re.findall("[a-z]+", text))
expected = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:3]
with open("/app/report.json") as file:
    report = json.load(file)
assert list(report.items()) == expected, report
