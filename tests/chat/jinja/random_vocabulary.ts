import words from "./random_words.txt" with { type: "text" };

/** Returns the words of a section, one a line. `$` is a random expression, and `#` a small number. */
function section(name: string): readonly string[] {
  const [, text = ""] = words.split(`# ${name}\n`);
  return (text.split(/\n\n/)[0] ?? "").split("\n").filter((line) => line !== "");
}

export const ATOMS: readonly string[] = section("atoms");
const LIST_ATOMS = section("lists");
/** Slices are of variables, as Jinja2 gives a wrong slice of a constant another meaning. */
export const SLICED: readonly string[] = section("sliced");
export const ATTRIBUTES: readonly string[] = section("attributes");
export const TESTS: readonly string[] = section("tests");
const FILTERS = section("filters");
const METHODS = section("methods");
export const FORMATS: readonly string[] = section("formats");
export const LOOP_TEXTS: readonly string[] = ["", ...section("loops")];

/** Variables that random templates read, as a JSON text, which keeps 1.0 apart from 1. */
export const RANDOM_VARIABLES: string = JSON.stringify({
  s: "Hello, World",
  pad: "  \tx y \n",
  uni: "Straße ﬁ Ǆ é😀漢\u2028ς ΑΣ",
  num: "12",
  empty: "",
  i: 7,
  neg: -13,
  f: 2.5,
  t: true,
  none: null,
  xs: [3, 1, 2],
  words: ["pear", "Apple", "fig", "apple"],
  rows: [{ name: "b", n: 2, tags: ["x"] }, { name: "a", n: 1, tags: [] }, { name: "B", n: 2 }],
  d: { b: 1, a: [1, 2], items: "it", c: { d: null } },
  nested: [[1, [2, 3]], [], ["z"]],
}).replace('"f":2.5', '"f":2.5,"one":1.0,"tiny":1e-7,"big":12345678901234567890,"huge":1e22');

export const BINARY: readonly string[] = "+|+|-|*|/|//|%|**|~|~|and|or|==|!=|<|<=|>|>=|in|not in".split("|");
export const UNARY: readonly string[] = ["-", "+", "not "];

/** What an expression is likely to be. */
export type Kind = "text" | "number" | "list" | "dict";
export const KINDS: readonly Kind[] = ["text", "text", "number", "list", "dict"];

export const ATOMS_OF: Readonly<Record<Kind, readonly string[]>> = {
  text: [
    "s",
    "pad",
    "uni",
    "num",
    "empty",
    "s",
    ...ATOMS.filter((atom) => /^'/.test(atom)),
    ...ATOMS.filter((atom) => /^'/.test(atom)),
  ],
  number: [
    "i",
    "neg",
    "f",
    "one",
    "tiny",
    "big",
    "huge",
    "t",
    ...ATOMS.filter((atom) => /^[-\d]/.test(atom)),
  ],
  list: LIST_ATOMS,
  dict: [
    "d",
    "{'k': 1}",
    "{1: 'i', 'x': none, none: 2.5}",
    "dict(a=1, b='x')",
    "{'a': {'b': [1]}}",
    "rows[0]",
    "d.c",
  ],
};
export const OPERATORS_OF: Readonly<Record<Kind, readonly string[]>> = {
  text: "+|~|in|==|<|and|or|not in|!=|>=|%|*".split("|"),
  number: "+|-|*|/|//|%|**|==|<|>=|~|and".split("|"),
  list: "+|==|<|in|or|~|and|>".split("|"),
  dict: "==|!=|and|or|~|in".split("|"),
};
const ANY = /^(?:default|string|tojson|first|last|length|count|list|d\(|e$|escape|forceescape|safe)/;
const OF_LISTS =
  /^(?:join|reverse|sort|unique|sum|min|max|map|select|reject|groupby|batch|slice|list|items|dictsort|urlencode)/;
const OF_DICTS = /^(?:items|dictsort|xmlattr|attr|list|urlencode|map\('|sort\b|join|min|max)/;
const OF_NUMBERS = /^(?:abs|int|float|round|filesizeformat|string|default|format)/;
export const FILTERS_OF: Readonly<Record<Kind, readonly string[]>> = {
  text: FILTERS.filter((name) => !/attr|groupby|dictsort|xmlattr|^items|^abs|^round|attribute/.test(name)),
  number: FILTERS.filter((name) => OF_NUMBERS.test(name) || ANY.test(name)),
  list: FILTERS.filter((name) => OF_LISTS.test(name) && !/^(?:items|dictsort)/.test(name) || ANY.test(name)),
  dict: FILTERS.filter((name) => OF_DICTS.test(name) || ANY.test(name)),
};
const OF_DICT = /^(?:items|keys|values|copy|get|pop|update)/;
const OF_LIST = /^(?:copy|append|pop|count\(\$|index\(\$)/;
export const METHODS_OF: Readonly<Record<Kind, readonly string[]>> = {
  text: METHODS.filter((name) => !OF_DICT.test(name) && !/^(?:append|bit|is_int)/.test(name)),
  number: METHODS.filter((name) => /^(?:bit_length|is_integer)/.test(name)),
  list: METHODS.filter((name) => OF_LIST.test(name)),
  dict: METHODS.filter((name) => OF_DICT.test(name)),
};
