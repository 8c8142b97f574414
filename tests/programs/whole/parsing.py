"""Numbers out of bytes and codes: parsing, encoding, checksums, calendars."""

import numpy as np
from whole.program import SIZED, Program

SEPARATOR = ord(",")
EPOCH = 1970


def parse_integers(text):
    values = []
    value, sign, inside = 0, 1, False
    for c in text:
        if c == ord("-"):
            sign = -1
        elif ord("0") <= c <= ord("9"):
            value = 10 * value + (int(c) - ord("0"))
            inside = True
        elif inside:
            values.append(sign * value)
            value, sign, inside = 0, 1, False
    if inside:
        values.append(sign * value)
    return np.array(values, dtype=np.int64)


def parse_decimals(text):
    ends = np.flatnonzero(text == SEPARATOR)
    out = np.zeros(len(ends) + 1)
    start = 0
    for k in range(len(out)):
        stop = ends[k] if k < len(ends) else len(text)
        field = text[start:stop]
        whole, scale, after, sign = 0.0, 1.0, False, 1.0
        for c in field:
            if c == 45:
                sign = -1.0
            elif c == 46:
                after = True
            elif 48 <= c <= 57:
                whole = whole * 10 + (int(c) - 48)
                if after:
                    scale *= 10
        out[k] = sign * whole / scale if stop > start else np.nan
        start = stop + 1
    return out


def crc32(data):
    table = np.zeros(256, dtype=np.uint32)
    for i in range(256):
        c = np.uint32(i)
        for _ in range(8):
            if c & 1:
                c = np.uint32(0xEDB88320) ^ (c >> np.uint32(1))
            else:
                c = c >> np.uint32(1)
        table[i] = c
    crc = np.uint32(0xFFFFFFFF)
    for b in data:
        crc = table[(crc ^ b) & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
    return crc ^ np.uint32(0xFFFFFFFF)


def run_length(x):
    values = []
    counts = []
    i = 0
    while i < len(x):
        j = i + 1
        while j < len(x) and x[j] == x[i]:
            j += 1
        values.append(x[i])
        counts.append(j - i)
        i = j
    return np.array(values), np.array(counts), np.repeat(np.array(values), np.array(counts))


def variable_length_decode(data):
    out = np.empty(len(data), dtype=np.int64)
    n = 0
    shift = 0
    value = 0
    for b in data:
        value |= (int(b) & 0x7F) << shift
        if b & 0x80:
            shift += 7
            continue
        out[n] = (value >> 1) ^ -(value & 1)
        n += 1
        shift = value = 0
    return out[:n]


def days_to_dates(days):
    z = days + 719468
    era = np.floor_divide(z, 146097)
    doe = z - era * 146097
    yoe = (doe - doe // 1460 + doe // 36524 - doe // 146096) // 365
    doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
    mp = (5 * doy + 2) // 153
    day = doy - (153 * mp + 2) // 5 + 1
    month = np.where(mp < 10, mp + 3, mp - 9)
    year = yoe + era * 400 + (month <= 2)
    leap = ((year % 4 == 0) & (year % 100 != 0)) | (year % 400 == 0)
    return np.stack([year - EPOCH, month, day], axis=-1), leap.sum()


def word_lengths(text):
    space = (text == 32) | (text == 10)
    edges = np.diff(np.concatenate([np.array([True]), space, np.array([True])]).astype(np.int8))
    starts = np.where(edges == -1)[0]
    stops = np.where(edges == 1)[0]
    lengths = stops - starts
    if lengths.size == 0:
        return lengths, 0, -1
    longest = lengths.argmax()
    return lengths, lengths.max(), starts[longest]


def roman_value(codes):
    total = 0
    last = 0
    for c in codes[::-1]:
        match c:
            case 73:
                v = 1
            case 86:
                v = 5
            case 88:
                v = 10
            case 76:
                v = 50
            case 67:
                v = 100
            case _:
                raise ValueError("not a numeral")
        total += v if v >= last else -v
        last = max(last, v)
    return total


def polynomial_hash_matches(text, pattern):
    n, m = len(text), len(pattern)
    base, mod = 257, 1000003
    want = have = 0
    power = 1
    for i in range(m):
        want = (want * base + pattern[i]) % mod
        have = (have * base + text[i]) % mod
        if i < m - 1:
            power = power * base % mod
    hits = []
    for i in range(n - m + 1):
        if want == have and (text[i : i + m] == pattern).all():
            hits.append(i)
        if i + m < n:
            have = ((have - text[i] * power) * base + text[i + m]) % mod
    return hits


def _outside(k):
    global SEPARATOR, EPOCH
    SEPARATOR = ord((",", ";", "|")[k])
    EPOCH = (1970, 0, 2000)[k]


def _bytes(text):
    return np.frombuffer(text, dtype=np.uint8).copy()


PROGRAMS = [
    Program(
        parse_integers,
        lambda r, k: (_bytes((b"12, -7 300;0", b"-1", b" x 5 66 ")[k]),),
        host=SIZED,
        long=True,
    ),
    Program(
        parse_decimals,
        lambda r, k: (_bytes((b"1.5,-2.25,,3", b"10;.5", b"7")[k]),),
        outside=_outside,
        host=SIZED,
        long=True,
    ),
    Program(crc32, lambda r, k: (_bytes((b"123456789", b"a", b"")[k]),), quick=True),
    Program(
        run_length,
        lambda r, k: (r.integers(0, 3, (12, 30, 1)[k]),),
        host=SIZED,
        long=True,
    ),
    Program(
        variable_length_decode,
        lambda r, k: (np.array((([3, 0x96, 1]), ([0x80, 0x80, 4, 7]), ([5]))[k], dtype=np.uint8),),
        host=SIZED,
    ),
    Program(
        days_to_dates, lambda r, k: (r.integers(-90000, 90000, (7, 3, 20)[k]),), outside=_outside, quick=True
    ),
    Program(
        word_lengths,
        lambda r, k: (_bytes((b"a quick  brown fox", b"  ", b"word")[k]),),
        joins=True,
        host=SIZED,
    ),
    Program(roman_value, lambda r, k: (_bytes((b"XLIV", b"CXCIX", b"I?")[k]),)),
    Program(
        polynomial_hash_matches,
        lambda r, k: (r.integers(0, 2, (20, 31, 5)[k]), np.array(([1, 0], [1, 1, 0], [0])[k])),
        host=SIZED,
        long=True,
    ),
]
