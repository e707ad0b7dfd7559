"""`time.strftime` with the conversions, flags and widths of glibc 2.36 in the C locale. `datetime` calls it too."""

import re
import time

DIRECTIVE = re.compile(r"%([_\-0^#]*)([0-9]*)([EO]?)([^\0]?)", re.DOTALL)
"""Flags, width, modifier, and letter, in glibc's order."""
PLAIN_FORMAT = re.compile(r"(?:[^%\0]|%[aAbBcdDeFHIjmMnprRStTyY%])*", re.DOTALL).fullmatch
"""Matches formats for which musl's function returns what glibc's does, for years of four digits."""
PLAIN_YEARS = range(1000, 10000)
EARLY_YEARS = range(1, 1000)
FULL_YEARS = {"%Y": "%04Y", "%G": "%04G", "%C": "%02C", "%F": "%04Y-%m-%d"}
"""What CPython 3.14 on Linux writes for years before 1000 in the formats of `date` and `datetime`."""

FIELDS = "%Y %G %V %U %W %u %w %m %d %H %M %S %j"
DIGITS = {"C": 1, "G": 1, "j": 3, "u": 1, "w": 1, "Y": 1}
"""Minimum numbers of digits where these are not 2."""
SPACED = "ekl"
"""Numbers that are padded with spaces."""
COMPOSED = {
    "c": "%a %b %e %H:%M:%S %Y",
    "D": "%m/%d/%y",
    "F": "%Y-%m-%d",
    "r": "%I:%M:%S %p",
    "R": "%H:%M",
    "T": "%H:%M:%S",
    "x": "%m/%d/%y",
    "X": "%H:%M:%S",
}
"""Conversions that stand for formats."""
LITERALS = {"%": "%", "n": "\n", "t": "\t"}
KNOWN = frozenset("aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyYzZ%")
MODIFIED = {"E": "cnprstuxyzCPRTXYZ%", "O": "bdeghjklmnprstuwyzBCGHIMPRSTUVWZ%"}
"""The letters that each modifier may precede. Modifiers change nothing in the C locale."""
MIN_BUFFER_CHARS, BUFFER_FACTOR = 1024, 256
"""CPython's buffer has the smallest power of two that is at least this, and this many times the format's length."""

CHANGED_CASE = frozenset("aAbBh")
"""The letters whose text the flag `#` writes in capitals."""
REFUSED_LATE = ("b", "h")
"""Letters of which glibc applies the flag `#` before the check of the modifier."""
MAX_WIDTH_DIGITS = 9

_strftime, _mktime = time.strftime, time.mktime
_localtime, _struct_time = time.localtime, time.struct_time
_expand_all = DIRECTIVE.sub


def strftime(format, time_tuple=None, /):
    """
    strftime(format[, tuple]) -> string

    Convert a time tuple to a string according to a format specification. See the library reference manual for
    formatting codes. When the time tuple is not present, current time as returned by localtime() is used.
    """
    if time_tuple is None:
        time_tuple = _localtime()
    if not isinstance(format, str):
        return _strftime(format, time_tuple)  # raises
    if PLAIN_FORMAT(format):
        text = _strftime(format, time_tuple)
        if time_tuple[0] in PLAIN_YEARS:
            return text
    if _is_of_datetime(time_tuple):
        format = _expand_all(lambda directive: FULL_YEARS.get(directive[0], directive[0]), format)
    parts = _Parts(time_tuple, max(MIN_BUFFER_CHARS, 1 << (BUFFER_FACTOR * len(format) - 1).bit_length()))
    return parts.expand(format)


def _is_of_datetime(time_tuple):
    """True for a tuple as `date` and `datetime` pass it: a `struct_time` that has no zone."""
    return type(time_tuple) is _struct_time and time_tuple.tm_zone is None and time_tuple.tm_year in EARLY_YEARS


class _Parts:
    """A time, with the values of its numeric conversions."""

    def __init__(self, time_tuple, buffer_chars):
        year, iso_year, week, from_sunday, from_monday, day_of_week, weekday, month, day, hour, minute, second, yearday = (
            map(int, _strftime(FIELDS, time_tuple).split())
        )
        self.time_tuple, self.buffer_chars = time_tuple, buffer_chars
        self.numbers = {
            "Y": year, "C": year // 100, "y": year % 100, "G": iso_year, "g": iso_year % 100,
            "V": week, "U": from_sunday, "W": from_monday, "u": day_of_week, "w": weekday,
            "m": month, "d": day, "e": day, "j": yearday,
            "H": hour, "k": hour, "I": hour % 12 or 12, "l": hour % 12 or 12, "M": minute, "S": second,
        }

    def expand(self, format):
        """Returns the text of a format, or an empty one if the text does not fit into CPython's buffer."""
        text = _expand_all(self.text_of, format)
        return text if len(text) < self.buffer_chars else ""

    def text_of(self, directive):
        """Returns the text of a directive."""
        flags, digits, modifier, letter = directive.groups()
        pad = next((flag for flag in reversed(flags) if flag in "_-0"), "")
        width = self.width_of(digits)
        is_known = letter in KNOWN and (not modifier or letter in MODIFIED[modifier])
        if is_known and letter in self.numbers:
            return _number(self.numbers[letter], DIGITS.get(letter, 2), pad or ("_" if letter in SPACED else ""), width)
        if is_known and letter == "z":
            return self.offset(pad, width)
        if is_known:
            text = _in_case(self.word(letter), letter, flags)
        else:
            text = _in_case(directive[0], letter if letter in REFUSED_LATE else "", flags)
        return _padded(text, pad, width)

    def width_of(self, digits):
        """Returns a width. The text of a larger one than the buffer does not fit."""
        significant = digits.lstrip("0")
        return self.buffer_chars if len(significant) > MAX_WIDTH_DIGITS else min(int(significant or 0), self.buffer_chars)

    def word(self, letter):
        """Returns the text of a directive that is no number, without padding."""
        if letter in COMPOSED:
            return self.expand(COMPOSED[letter])
        if letter == "s":
            return self.seconds()
        if letter == "Z":
            return self.zone()
        return LITERALS.get(letter) or _strftime("%p" if letter == "P" else f"%{letter}", self.time_tuple)

    def zone(self):
        """Returns the name of the zone, which a plain tuple does not have."""
        name = self.time_tuple.tm_zone if type(self.time_tuple) is _struct_time else None
        is_dst = self.time_tuple[8]
        return name or (time.tzname[is_dst != 0] if is_dst >= 0 else "")

    def offset(self, pad, width):
        """Returns the offset from UTC. A time whose zone is not known has none."""
        if self.time_tuple[8] < 0:
            return ""
        seconds = (self.time_tuple.tm_gmtoff or 0) if type(self.time_tuple) is _struct_time else 0
        hours, minutes = divmod(abs(seconds) // 60, 60)
        return _padded("-" if seconds < 0 else "+", pad, width) + _number(hours * 100 + minutes, 4, pad, width)

    def seconds(self):
        """Returns the seconds since 1970, -1 if C cannot represent these."""
        try:
            return str(int(_mktime(self.time_tuple)))
        except OverflowError:
            return "-1"


def _number(value, digits, pad, width):
    text = str(value)
    digits = max(digits, width)
    if pad == "-":
        return text.rjust(width)
    return text.rjust(digits) if pad == "_" else text.zfill(digits)


def _padded(text, pad, width):
    return text.rjust(width, "0" if pad == "0" else " ")


def _in_case(text, letter, flags):
    """Returns a text in the case that its letter and its flags name, character by character as C does."""
    if letter == "P" or (letter in ("p", "Z") and "#" in flags):
        return text.lower()
    if "^" in flags or ("#" in flags and letter in CHANGED_CASE):
        return "".join(character.upper() if len(character.upper()) == 1 else character for character in text)
    return text


strftime.__module__ = "time"
time.strftime = strftime
