"""Reads time zones for `time.tzset`: files of the IANA database, and texts such as `EST5EDT,M3.2.0,M11.1.0`."""

import calendar
import re
import struct
import time
from zoneinfo import _common, _tzpath

FOREVER = -(2.0**60)
"""The start of a zone's first period."""
FIRST_YEAR, LAST_YEAR = 1900, 2100
HALF_YEAR = (365 * 24 + 6) * 3600 // 2
AMERICAN_RULES = "M3.2.0", "M11.1.0"
"""The rules of a text that names a daylight saving time and has none."""
FOLDER = "/usr/share/zoneinfo/"
UNITS = 3600, 60, 1

_NAME = "([A-Za-z]{3,}|<[A-Za-z0-9+-]{3,}>)"
_TIME = r"([+-]?\d{1,3}(?::\d\d){0,2})"
_TEXT = re.compile(f"{_NAME}{_TIME}(?:{_NAME}{_TIME}?(?:,([^,]+),([^,]+))?)?")
_RULE = re.compile(rf"(?:M(\d+)\.(\d)\.(\d)|(J?)(\d+))(?:/{_TIME})?")


def apply(name):
    """Sets the attributes of `time` for a value of the environment variable TZ. Returns the zone as the worker reads it."""
    periods = _periods(name or "UTC")
    january = time.time() // (2 * HALF_YEAR) * 2 * HALF_YEAR
    halves = [[period for period in periods if period[0] <= when][-1] for when in (january, january + HALF_YEAR)]
    first, second = sorted(halves, key=lambda period: period[1])
    time.tzname = first[3], second[3]
    time.timezone, time.altzone, time.daylight = -first[1], -second[1], int(first[1] != second[1])
    names = [period[3] for kind in (0, 1) for period in [*[each for each in halves if each[2] == kind], *halves][:1]]
    data = struct.pack("<16s16s", *(name[:15].encode() for name in names))
    return data + b"".join(struct.pack("<dii", *period[:3]) for period in periods)


def _periods(name):
    """Returns start, offset, kind and name of each period of a zone."""
    name = name.removeprefix(":").removeprefix(FOLDER)
    try:
        return _file_periods(name)
    except (ValueError, OSError):
        pass
    if match := _TEXT.fullmatch(name):
        return _text_periods(match, FIRST_YEAR)
    letters = re.match("[A-Za-z]{3,}", name)
    return [(FOREVER, 0, 0, letters[0] if letters else "UTC")]


def _file_periods(name):
    path = _tzpath.find_tzfile(name)
    if path is None:
        raise FileNotFoundError(name)
    with open(path, "rb") as file:
        kinds, starts, offsets, is_dst, names, rule = _common.load_data(file)
    first = next((index for index, dst in enumerate(is_dst) if not dst), 0)
    periods = [
        (float(start), offsets[index], int(is_dst[index]), names[index])
        for start, index in zip((FOREVER, *starts), (first, *kinds))
    ]
    match = _TEXT.fullmatch(rule.decode()) if rule else None
    later = _text_periods(match, max(FIRST_YEAR, time.gmtime(max(periods[-1][0], 0)).tm_year)) if match else []
    return periods + [period for period in later if period[0] > periods[-1][0]]


def _text_periods(match, first_year):
    standard, offset, summer, summer_offset, start, end = match.groups()
    offset = -_seconds(offset)
    periods = [(FOREVER, offset, 0, standard.strip("<>"))]
    if summer:
        if not start:
            start, end = AMERICAN_RULES
        summer_offset = -_seconds(summer_offset) if summer_offset else offset + 3600
        for year in range(first_year, LAST_YEAR):
            periods.append((_rule_time(start, year) - offset, summer_offset, 1, summer.strip("<>")))
            periods.append((_rule_time(end, year) - summer_offset, offset, 0, standard.strip("<>")))
    return sorted(periods)


def _seconds(text):
    """Returns the seconds of a time such as `-1:30`."""
    sign = -1 if text.startswith("-") else 1
    return sign * sum(int(part) * unit for part, unit in zip(text.lstrip("+-").split(":"), UNITS))


def _rule_time(rule, year):
    """Returns the local time of a change of the clock in a year, in seconds since 1970."""
    match = _RULE.fullmatch(rule)
    if not match:
        raise ValueError(rule)
    month, week, weekday, julian, day, when = match.groups()
    new_year = calendar.timegm((year, 1, 1, 0, 0, 0))
    if month is None:
        days = int(day)
        if julian and (days < 60 or not calendar.isleap(year)):
            days -= 1
    else:
        first, length = calendar.monthrange(year, int(month))
        days = (int(weekday) - first - 1) % 7 + 7 * (int(week) - 1)
        if days >= length:
            days -= 7
        days += (calendar.timegm((year, int(month), 1, 0, 0, 0)) - new_year) // 86400
    return float(new_year + days * 86400 + (_seconds(when) if when else 7200))
