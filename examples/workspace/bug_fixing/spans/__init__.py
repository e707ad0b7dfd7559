"""Spans of whole numbers, as `[first, last]`, both of them included."""

from spans.merge import gaps, merge, total
from spans.text import parse, show
