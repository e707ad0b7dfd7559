const TOKEN = /\d+(?:\.\d+)?|\.\d+|\\[a-zA-Z]+|[a-zA-Z]+|[-+*/^_!(){}[\]|]/y;
/** Names of functions and constants. */
const NAMES: ReadonlySet<string> = new Set([
  "pi",
  "sqrt",
  "frac",
  "binom",
  "sin",
  "cos",
  "tan",
  "cot",
  "sec",
  "csc",
  "arcsin",
  "arccos",
  "arctan",
  "sinh",
  "cosh",
  "tanh",
  "log",
  "ln",
  "exp",
]);
/** Greek letters are variables. */
const GREEK =
  /^\\(?:alpha|beta|gamma|delta|epsilon|varepsilon|theta|lambda|mu|nu|rho|sigma|tau|phi|varphi|omega)$/;
/** Longer runs of letters are words, not products. */
const MAX_LETTERS = 2;

/** Returns the tokens of an expression, with names without backslash; `null` if it contains anything else. */
export function tokensOf(text: string): string[] | null {
  const tokens: string[] = [];
  for (let at = 0; at < text.length;) {
    if (text[at] === " ") {
      at++;
      continue;
    }
    TOKEN.lastIndex = at;
    const [token = ""] = TOKEN.exec(text) ?? [];
    const parts = partsOf(token);
    if (parts === null) return null;
    tokens.push(...parts);
    at += token.length;
  }
  return tokens;
}

/** Returns true if a token is the name of a function or constant. */
export function isName(token: string): boolean {
  return NAMES.has(token);
}

function partsOf(token: string): string[] | null {
  if (token === "") return null;
  if (!/^\\?[a-zA-Z]/.test(token)) return [token];
  const name = token.replace(/^\\/, "");
  if (NAMES.has(name)) return [name];
  if (token.startsWith("\\")) return GREEK.test(token) ? [token] : null;
  return token.length <= MAX_LETTERS ? [...token] : null;
}
