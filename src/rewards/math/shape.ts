/** How an answer is built. */
export type Shape =
  /** A number, an expression or a text. */
  | { readonly kind: "plain"; readonly text: string }
  /** A tuple, an interval, a row of a matrix: the order counts, and what they are between. */
  | { readonly kind: "ordered"; readonly brackets: string; readonly parts: readonly Shape[] }
  /** A set, several answers, a union: the order does not count. */
  | { readonly kind: "unordered"; readonly parts: readonly Shape[] };

const MATRIX = /^\\begin\{([pbvBV]?matrix|array)\}(?:\{[^{}]*\})?(.*)\\end\{\1\}$/s;
/** `x =`, `x_1 =`, `\theta =`, `f(x) =`, `(x, y) =`, `x \in`. */
const ASSIGNMENT =
  /^((?:\\[a-z]{2,8}|[a-zA-Z])(?:_\{?\w\}?)?(?:\([a-zA-Z]\))?|\([a-zA-Z](?:, ?[a-zA-Z]){1,3}\))\s?(?:=|\\in(?![a-zA-Z]))\s?(.+)$/s;
const MAX_DEPTH = 10;

/** Takes a cleaned answer apart; `x = 5` is `5`, and `2 \pm 1` is two answers. */
export function shapeOf(answer: string, depth = 0): Shape {
  const text = answer.trim();
  const assigned = ASSIGNMENT.exec(text)?.[2];
  if (depth > MAX_DEPTH) return { kind: "plain", text };
  if (assigned !== undefined && !assigned.includes("=")) return shapeOf(assigned, depth + 1);
  const matrix = MATRIX.exec(text)?.[2];
  if (matrix !== undefined) return matrixShape(matrix, depth);
  const unions = partsOf(text, (at) => /^\\cup(?![a-zA-Z])/.exec(text.slice(at, at + 5))?.[0].length ?? 0);
  if (unions.length > 1) return unordered(unions, depth);
  return listShape(text, depth) ?? signsShape(text, depth) ?? { kind: "plain", text };
}

/** What is between brackets, or has commas between its parts. */
function listShape(text: string, depth: number): Shape | undefined {
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

/** `a = 2, b = 3`, where it counts which of them is what. */
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

function matrixShape(inside: string, depth: number): Shape {
  const rows = inside.split("\\\\").map((row) => row.trim()).filter((row) => row !== "");
  const parts = rows.map((row): Shape => ({
    kind: "ordered",
    brackets: "row",
    parts: shapes(row.split("&"), depth),
  }));
  return { kind: "ordered", brackets: "matrix", parts };
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

/** Cuts where `separator` says how long one is, outside of all brackets. */
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

/** Whether the first bracket is closed by the last character, as in `(1, 2)` and not in `(1)(2)`. */
function closesAtEnd(text: string): boolean {
  let open = 0;
  for (let at = 0; at < text.length; at++) {
    if ("([{".includes(text[at] ?? "")) open++;
    else if (")]}".includes(text[at] ?? "") && --open === 0) return at === text.length - 1;
  }
  return false;
}
