"""The events in the text of a trace_view.json that may be damaged anywhere.

Written from the rules: every complete event counts. An error inside one event costs that event. Reading
resumes at the next `{` from the token at fault on that follows a `,` and from which a complete object with
`ph` or `name` parses, never at the damaged event's own `{`; the reader then stands in the event array again.

Until the first error of a file only the structure of an event is looked at that nobody wants: its brackets and strings. What
else is wrong in it goes unnoticed: it counts, with no fields. With --strict there is no such event.

Texts are str in which invalid UTF-8 stands as lone surrogates ("surrogateescape"), so that nothing is lost.
"""
import json
import re
from json.decoder import scanstring
from typing import NamedTuple

JSON_DEPTH = 128
STRING_BYTES = 8 << 20
EVENT_BYTES = 16 << 20

BLANKS = re.compile(r"[ \t\r\n]*")
AFTER_COMMA = re.compile(r",[ \t\r\n]*\{")
SCALAR = re.compile(r"true|false|null|(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
# What a structure is made of: strings, brackets and marks, blanks, and anything else.
PART = re.compile(r'''(?P<string>"[^"\\\x00-\x1f]*(?:\\[^\x00-\x1f][^"\\\x00-\x1f]*)*")|(?P<mark>[{}\[\],:])'''
                  r'''|(?P<blank>[ \t\r\n]+)|(?P<other>[^"\\\x00-\x20{}\[\],:]+)''')
WANTED = ('"Call stack"', '"Sequence number"', '"cpu_op"')
PLAIN = re.compile(r'[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*)*')


class Number(str):
    """A JSON number as its digits."""


class Fault(Exception):
    """An error in the text: at which character, why, whether it is the end of the text, whether it costs an event."""

    def __init__(self, at, reason, lost=False):
        super().__init__(reason)
        self.at, self.reason, self.lost = at, reason, lost
        self.start, self.is_event = -1, True        # of the element around it


class Item(NamedTuple):
    """An element of the event array: the characters [start, end) of the text."""
    value: object
    start: int
    end: int


def byte_count(text):
    """Bytes of a text in the file."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


def refuse(name):
    """NaN and Infinity, which Python's own parser would take."""
    raise ValueError(f"{name} is no JSON")


# The quick way to read what is whole.
DECODER = json.JSONDecoder(parse_float=Number, parse_int=Number, parse_constant=refuse)


class Scanner:
    """The plain way to read one value: it tells at which token a text stops being JSON, and knows the limits.

    It keeps the containers around a token in a list, so that no depth is too much for it."""

    def __init__(self, text, start, depth):
        self.text, self.start, self.at, self.depth = text, start, start, depth
        self.reach = start + EVENT_BYTES        # bytes are not fewer than characters

    def peek(self):
        """The next character that is no blank; empty at the end of the text."""
        self.at = BLANKS.match(self.text, self.at).end()
        if self.at >= self.reach:
            raise Fault(self.at, "limit EVENT_BYTES")
        return self.text[self.at:self.at + 1]

    def string(self):
        """The text that begins at the quote at hand."""
        start = self.at
        end = PLAIN.match(self.text, start + 1).end()
        if byte_count(self.text[start + 1:end]) > STRING_BYTES:
            raise Fault(start, "limit STRING_BYTES")
        if self.text[end:end + 1] != '"':
            # a text may also be cut inside an escape
            cut = end == len(self.text) or re.fullmatch(r"\\(u[0-9A-Fa-f]{0,3})?", self.text[end:])
            raise Fault(len(self.text) if cut else end, "premature EOF" if cut else "a text that is none")
        value, self.at = scanstring(self.text, start + 1, True)
        return value

    def expect(self, wanted):
        """Pass over one of the characters in `wanted`, and give it."""
        char = self.peek()
        if not char or char not in wanted:
            raise Fault(self.at, f"not one of {wanted}" if char else "premature EOF")
        self.at += 1
        return char

    def scalar(self):
        """The text, number or literal at hand."""
        if self.peek() == '"':
            return self.string()
        match = SCALAR.match(self.text, self.at)
        if not match:
            rest = self.text[self.at:self.at + 5]
            # what is cut is no token yet
            cut = self.at + len(rest) == len(self.text) and any(
                word.startswith(rest) for word in ("true", "false", "null", "-"))
            raise Fault(len(self.text) if cut else self.at, "premature EOF" if cut else "no JSON token")
        self.at = match.end()
        cut = match["number"] and re.fullmatch(r"(\.|[eE][+-]?|\.[0-9]+[eE][+-]?)?", self.text[self.at:])
        if cut:                                 # more digits might have followed
            raise Fault(len(self.text), "premature EOF")
        literals = {"true": True, "false": False, "null": None}
        return Number(match[0]) if match["number"] else literals[match[0]]

    def open(self, around):
        """Pass over a bracket; the container that it opens is the innermost of `around`."""
        if self.depth + len(around) >= JSON_DEPTH:
            raise Fault(self.at, "limit JSON_DEPTH")
        around.append({} if self.expect("{[") == "{" else [])

    def put(self, around, keys, value):
        """Put a value in the innermost container."""
        if isinstance(around[-1], dict):
            around[-1][keys.pop()] = value
        else:
            around[-1].append(value)

    def value(self):
        """The value that begins here, and its end."""
        around, keys, fresh = [], [], True
        while True:
            char = self.peek()
            closing = around and fresh and char == ("}" if isinstance(around[-1], dict) else "]")
            if around and not closing and isinstance(around[-1], dict):
                if self.peek() != '"':
                    raise Fault(self.at, "no key" if self.peek() else "premature EOF")
                keys.append(self.string())
                self.expect(":")
                char = self.peek()
            if closing:
                self.at += 1
                value = around.pop()
            elif char in ("{", "["):
                self.open(around)
                fresh = True
                continue
            else:
                value = self.scalar()
            while around:                       # a value ends here, and with it perhaps what is around it
                self.put(around, keys, value)
                end = "}" if isinstance(around[-1], dict) else "]"
                if self.expect("," + end) == ",":
                    break
                value = around.pop()
            else:
                self.check_size()
                return value, self.at
            fresh = False

    def check_size(self):
        """The whole value is within its limit."""
        if self.at - self.start > EVENT_BYTES // 4 and byte_count(self.text[self.start:self.at]) > EVENT_BYTES:
            raise Fault(self.at, "limit EVENT_BYTES")


def parse(text, start, depth):
    """The JSON value that begins at `start` inside `depth` containers, and its end. Raises Fault."""
    try:
        value, end = DECODER.raw_decode(text, start)
        brackets = text.count("{", start, end) + text.count("[", start, end)
        # a scalar at the end of the text might go on there
        if depth + brackets <= JSON_DEPTH and end - start < STRING_BYTES // 4 and end < len(text):
            return value, end
    except (ValueError, RecursionError):
        pass
    return Scanner(text, start, depth).value()


def structure_end(text, start, depth):
    """The end of the event that begins at `start` inside `depth` containers, by brackets and strings; None if they are wrong."""
    around, before, beside = [], "", None
    at = start
    while match := PART.match(text, at):
        kind, at = match.lastgroup, match.end()
        if "string" in (kind, beside) and {kind, beside} <= {"string", "other"}:
            return None                         # a string that stands beside something
        char = match[0]
        if char in ("{", "["):
            if around and before not in (":" if around[-1] == "{" else ",["):
                return None                     # no value may stand here
            if depth + len(around) >= JSON_DEPTH:
                return None
            around.append(char)
        elif char in ("}", "]") and around.pop() + char not in ("{}", "[]"):
            return None
        if not around:
            return at if byte_count(text[start:at]) <= EVENT_BYTES else None
        before, beside = before if kind == "blank" else char, kind
    return None


def is_wanted(text):
    """Whether an event is looked into in any case; an escape might hide a mark, but not that of a backslash."""
    escape = "\\" in text.replace("\\\\", "")
    return escape or any(mark in text for mark in WANTED) or byte_count(text) > STRING_BYTES


class Trace:
    """The text of a trace; items() gives the elements of its event array, `faults` what was passed over."""

    def __init__(self, text, strict=False):
        self.text, self.faults = text, []
        self.strict = strict        # from now on every event is looked into
        self.at = 1 if text.startswith("\ufeff") else 0     # byte order mark
        self.in_object = False      # whether the event array is a member of the root
        self.found = False          # the event array

    def items(self):
        """Items in the order of the text."""
        reading = self.document()
        while True:
            try:
                yield from reading
                return
            except Fault as fault:
                self.strict = True
                self.faults.append(fault)
                start = self.next_event(fault)
            if start is None:
                return
            self.at = start
            reading = self.rest()

    def byte_offset(self, at):
        """The byte of the file at which a character lies."""
        return byte_count(self.text[:at])

    def fault_offset(self, fault):
        """The byte at which a fault is met if that is beyond doubt, else None."""
        if fault.lost and not fault.is_event:
            return self.byte_offset(fault.start)
        return self.byte_offset(fault.at) if fault.reason == "premature EOF" else None

    def next_event(self, fault):
        """Where reading resumes; None if nowhere."""
        before = fault.at
        while before > 0 and self.text[before - 1] in " \t\r\n":
            before -= 1
        if before > 0 and self.text[before - 1] == ",":
            before -= 1             # a `{` at fault may be the one
        for match in AFTER_COMMA.finditer(self.text, before):
            start = match.end() - 1
            if start <= fault.start:
                continue
            try:
                value, _ = parse(self.text, start, 2 if self.in_object else 1)
            except Fault:
                continue
            if "ph" in value or "name" in value:
                return start
        return None

    # ------------------------------------------------------------------------ the parts of a document

    def peek(self):
        self.at = BLANKS.match(self.text, self.at).end()
        return self.text[self.at:self.at + 1]

    def fail(self, reason, lost=False):
        raise Fault(self.at, reason if self.at < len(self.text) else "premature EOF", lost=lost)

    def parse(self, depth):
        value, self.at = parse(self.text, self.at, depth)
        return value

    def document(self):
        """All of it."""
        char = self.peek()
        if char not in ("{", "["):
            self.fail("neither an array of events nor an object")
        self.at += 1
        self.in_object = char == "{"
        if self.in_object:
            if self.peek() == "}":
                self.at += 1
            else:
                yield from self.member()
                yield from self.further_members()
        else:
            yield from self.array()
        self.end()

    def rest(self):
        """From an event on: the array, then what is around it."""
        self.found = True
        yield from self.elements()
        if self.in_object:
            yield from self.further_members()
        self.end()

    def end(self):
        """Nothing follows, and there was an array of events."""
        if self.peek():
            self.fail("garbage behind the end")
        if not self.found:
            raise Fault(self.at, "no array of events under the key traceEvents")

    def member(self):
        """One member of the root object."""
        if self.peek() != '"':
            self.fail("no key")
        key = self.parse(1)
        if self.peek() != ":":
            self.fail("no colon")
        self.at += 1
        if self.peek() == "[" and key == "traceEvents":
            self.at += 1
            yield from self.array()
        else:
            self.parse(1)

    def further_members(self):
        """The members of the root object behind the one just read, and its end."""
        while (char := self.peek()) == ",":
            self.at += 1
            yield from self.member()
        if char != "}":
            self.fail("neither , nor }")
        self.at += 1

    def array(self):
        """The event array behind its bracket."""
        self.found = True
        if self.peek() == "]":
            self.strict = True
            self.at += 1
        else:
            yield from self.elements()

    def elements(self):
        """One element or more, and the end of the array."""
        while True:
            item = self.element()
            self.strict = self.strict or not isinstance(item.value, dict)
            yield item
            char = self.peek()
            if char == "]":
                self.strict = True              # another array under the same key, if there is one
                break
            if char != ",":
                self.fail("neither , nor ]", lost=char == "{")
            self.at += 1
        self.at += 1

    def element(self):
        """An event, or a value that is none."""
        char, start = self.peek(), self.at
        depth = 2 if self.in_object else 1
        try:
            return Item(self.parse(depth), start, self.at)
        except Fault as fault:
            end = structure_end(self.text, start, depth) if char == "{" and not self.strict else None
            if end and not is_wanted(self.text[start:end]):
                self.at = end
                return Item({}, start, end)
            # what is no event is lost when it has begun
            fault.start, fault.lost, fault.is_event = start, char in ("{", "["), char == "{"
            raise
