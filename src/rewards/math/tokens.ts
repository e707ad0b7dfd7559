const TOKEN = /\d+(?:\.\d+)?|\.\d+|\\[a-zA-Z]+|[a-zA-Z]+|[-+*/^_!(){}[\]|]/y;
/** The names that are more than a product of letters. */
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
/** Letters of the Greek alphabet are variables. */
const GREEK =
  /^\\(?:alpha|beta|gamma|delta|epsilon|varepsilon|theta|lambda|mu|nu|rho|sigma|tau|phi|varphi|omega)$/;
/** More letters in a row are a word, and not a product. */
const MAX_LETTERS = 2;

/** The tokens of an expression, names without their backslash; `null` when something else is in it. */
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

/** Whether a token is the name of a function or a constant. */
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
