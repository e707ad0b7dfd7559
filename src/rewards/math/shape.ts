/** Structure of an answer. */
export type Shape =
  /** A number, an expression or text. */
  | { readonly kind: "plain"; readonly text: string }
  /** A tuple, an interval or a row of a matrix. Order and brackets matter. */
  | { readonly kind: "ordered"; readonly brackets: string; readonly parts: readonly Shape[] }
  /** A set, several answers or a union. Order does not matter. */
  | { readonly kind: "unordered"; readonly parts: readonly Shape[] };

const MATRIX = /^\\begin\{([pbvBV]?matrix|array)\}(?:\{[^{}]*\})?(.*)\\end\{\1\}$/s;
/** `x =`, `x_1 =`, `\theta =`, `f(x) =`, `f^{-1}(x) =`, `(x, y) =`, `x \in`. */
const ASSIGNMENT =
  /^((?:\\[a-z]{2,8}|[a-zA-Z])(?:_\{?\w\}?)?(?:\^\{?-1\}?(?=\())?(?:\([a-zA-Z\d]{1,3}\))?|\([a-zA-Z](?:, ?[a-zA-Z]){1,3}\))\s?(?:=|\\in(?![a-zA-Z]))\s?(.+)$/s;
/** `AB = 4`. */
const NAMED = /^([A-Z]{2,4})\s?=\s?(.+)$/s;
const MAX_DEPTH = 10;

/** Returns the name in `x = 5` and `(x, y) = (1, 2)`, without spaces; `undefined` if the answer has none. */
export function nameOf(answer: string): string | undefined {
  const [, name, value = "="] = ASSIGNMENT.exec(answer.trim()) ?? [];
  return value.includes("=") ? undefined : name?.replace(/[\s{}]/g, "");
}

/** A value with the name of the variable. */
export interface NamedValue {
  readonly name: string;
  readonly value: string;
}

/** Returns names and values of `x = 3, y = 4`, as written; `undefined` if a part has no name. */
export function namedValuesOf(answer: string): readonly NamedValue[] | undefined {
  const parts = commaParts(answer);
  const named = parts.flatMap((part) => {
    const [, name = "", value = ""] = ASSIGNMENT.exec(part.trim()) ?? NAMED.exec(part.trim()) ?? [];
    return name === "" || value.includes("=") ? [] : [{ name, value }];
  });
  return parts.length > 1 && named.length === parts.length ? named : undefined;
}

/** Sorts values by name: Latin letters in their order before other names, which keep theirs. */
export function inUsualOrder(named: readonly NamedValue[]): readonly NamedValue[] {
  const isLatin = ({ name }: NamedValue) => /^[a-zA-Z]/.test(name);
  const latin = named.filter(isLatin).toSorted((a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
  return [...latin, ...named.filter((each) => !isLatin(each))];
}

const NAMED_TUPLE = /^\(([a-zA-Z](?:, ?[a-zA-Z]){1,3})\)\s?=\s?\((.*)\)$/s;

/** Returns `(x,y) = (1,2)` for `(y,x) = (2,1)`, and any other text unchanged. */
export function orderTuple(text: string): string {
  const [, names = "", inside = ""] = NAMED_TUPLE.exec(text) ?? [];
  const [letters, values] = [names.split(/, ?/), commaParts(inside)];
  if (names === "" || letters.length !== values.length || !closesAtEnd(`(${inside})`)) return text;
  const named = inUsualOrder(letters.map((name, at) => ({ name, value: values[at] ?? "" })));
  return `(${named.map(({ name }) => name)})=(${named.map(({ value }) => value)})`;
}

/** Returns the tuple of `(x,y) = (1,2)`, if the names match some values; `undefined` for any other text. */
export function valuesOfTuple(text: string, named: readonly NamedValue[]): string | undefined {
  const [, names = "", inside] = NAMED_TUPLE.exec(text) ?? [];
  const expected = inUsualOrder(named).map(({ name }) => name).join();
  return inside !== undefined && names.replaceAll(" ", "") === expected ? `(${inside})` : undefined;
}

/** Returns true if names are letters that follow each other, as `x, y` and `a, b, c`, in any order. */
export function areNeighbours(named: readonly NamedValue[]): boolean {
  const codes = named.map(({ name }) => name.codePointAt(0) ?? 0);
  return named.every(({ name }) => name.length === 1) &&
    Math.max(...codes) - Math.min(...codes) === new Set(codes).size - 1;
}

/** Parses the structure of a cleaned answer. `x = 5` becomes `5`, and `2 \pm 1` becomes two answers. */
export function shapeOf(answer: string, depth = 0): Shape {
  const text = answer.trim();
  const assigned = ASSIGNMENT.exec(text)?.[2];
  if (depth > MAX_DEPTH) return { kind: "plain", text };
  if (assigned !== undefined && !assigned.includes("=")) return shapeOf(assigned, depth + 1);
  const [, kind = "", matrix] = MATRIX.exec(text) ?? [];
  if (matrix !== undefined) {
    return matrixShape(matrix, { depth, brackets: /^[vV]/.test(kind) ? kind : "matrix" });
  }
  const unions = partsOf(text, (at) => /^\\cup(?![a-zA-Z])/.exec(text.slice(at, at + 5))?.[0].length ?? 0);
  if (unions.length > 1) return unordered(unions, depth);
  return listShape(text, depth) ?? signsShape(text, depth) ?? { kind: "plain", text };
}

/** Parses text in brackets or with commas. */
function listShape(text: string, depth: number): Shape | undefined {
  if (text === "\\{\\}" || text === "\\{ \\}") return { kind: "plain", text: "\\emptyset" };
  const isSet = text.startsWith("\\{") && text.endsWith("\\}");
  if (isSet) return unordered(commaParts(text.slice(2, -2)), depth);
  const brackets = `${text.at(0)}${text.at(-1)}`;
  if (/^[(\[][)\]]$/.test(brackets) && closesAtEnd(text)) {
    const parts = commaParts(text.slice(1, -1));
    return parts.length > 1 ? { kind: "ordered", brackets, parts: shapes(parts, depth) } : undefined;
  }
  const parts = commaParts(text);
  if (parts.length < 2) return undefined;
  const names = parts.map((part) => ASSIGNMENT.exec(part.trim())?.[1]);
  return new Set(names).size > 1 ? namedShape(parts, depth) : unordered(parts, depth);
}

/** Parses `a = 2, b = 3`, where the names matter. */
function namedShape(parts: readonly string[], depth: number): Shape {
  const named = parts.map((part): Shape => {
    const [, name = "", value = part] = ASSIGNMENT.exec(part.trim()) ?? [];
    return { kind: "ordered", brackets: name, parts: shapes([value], depth) };
  });
  return { kind: "unordered", parts: named };
}

function signsShape(text: string, depth: number): Shape | undefined {
  if (!/\\pm(?![a-zA-Z])/.test(text)) return undefined;
  return unordered(["+", "-"].map((sign) => text.replace(/\\pm(?![a-zA-Z])/g, sign)), depth);
}

function matrixShape(inside: string, { depth, brackets }: { depth: number; brackets: string }): Shape {
  const rows = inside.split("\\\\").map((row) => row.trim()).filter((row) => row !== "");
  const parts = rows.map((row): Shape => ({
    kind: "ordered",
    brackets: "row",
    parts: shapes(row.split("&"), depth),
  }));
  return { kind: "ordered", brackets, parts };
}

function unordered(parts: readonly string[], depth: number): Shape {
  return { kind: "unordered", parts: shapes(parts, depth) };
}

function shapes(parts: readonly string[], depth: number): Shape[] {
  return parts.map((part) => shapeOf(part, depth + 1));
}

function commaParts(text: string): string[] {
  return partsOf(text, (at) => text[at] === "," ? 1 : 0).filter((part) => part.trim() !== "");
}

/** Splits a text outside of all brackets. `separator` returns the length of a separator at an index, or 0. */
function partsOf(text: string, separator: (at: number) => number): string[] {
  const parts: string[] = [];
  let start = 0;
  let open = 0;
  for (let at = 0; at < text.length; at++) {
    if ("([{".includes(text[at] ?? "")) open++;
    else if (")]}".includes(text[at] ?? "")) open--;
    const length = open === 0 ? separator(at) : 0;
    if (length === 0) continue;
    parts.push(text.slice(start, at));
    start = at + length;
  }
  return [...parts, text.slice(start)];
}

/** Returns true if the last character closes the first bracket, as in `(1, 2)` but not in `(1)(2)`. */
function closesAtEnd(text: string): boolean {
  let open = 0;
  for (let at = 0; at < text.length; at++) {
    if ("([{".includes(text[at] ?? "")) open++;
    else if (")]}".includes(text[at] ?? "") && --open === 0) return at === text.length - 1;
  }
  return false;
}
