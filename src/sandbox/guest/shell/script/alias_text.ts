/** The text of commands with their aliases replaced. */
export interface ExpandedText {
  readonly text: string;
  /** True if the last line begins a here-document that does not end. */
  readonly isOpen: boolean;
}

const BLANK = /[ \t]/;
/** Words behind which a command begins. */
const BEFORE_COMMAND = new Set(["!", "do", "elif", "else", "if", "then", "time", "until", "while", "{"]);
const ASSIGNMENT = /^[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=/;
/** A redirection without its target. */
const REDIRECTION = /^(?:\d+|\{\w+\})?(?:<<<|<<-?|<>|<&|>&|>>|>\||&>>|&>|<(?!\()|>(?!\())/;

interface HereDocument {
  readonly end: string;
  readonly stripsTabs: boolean;
  readonly isQuoted: boolean;
}

/** Replaces the aliases in commands, as a shell does that reads them. */
export function expandAliases(text: string, aliases: ReadonlyMap<string, string>): ExpandedText {
  const reader = new AliasReader(text, aliases);
  return { text: reader.read(), isOpen: reader.isOpen };
}

class AliasReader {
  /** True if a here-document has begun and does not end. */
  isOpen = false;
  #text: string;
  readonly #aliases: ReadonlyMap<string, string>;
  #at = 0;
  #output = "";
  /** Aliases whose text is read now, each with the number of characters behind the text. */
  #active: { readonly name: string; readonly left: number }[] = [];
  /** True if the word before was an alias whose text ends with a blank. */
  #checksNext = false;
  #isCommand = true;
  #documents: HereDocument[] = [];

  constructor(text: string, aliases: ReadonlyMap<string, string>) {
    this.#text = text;
    this.#aliases = aliases;
  }

  /** Reads commands up to the end of the text, or up to the parenthesis that closes them. */
  read(isNested = false): string {
    let depth = 0;
    while (this.#at < this.#text.length) {
      this.#leaveAliases();
      const sign = this.#text.charAt(this.#at);
      if (sign === ")" && isNested && depth === 0) break;
      if (sign === "(") depth++;
      if (sign === ")") depth--;
      this.#readNext(sign);
    }
    if (this.#documents.length > 0) this.isOpen = true;
    return this.#output;
  }

  #readNext(sign: string): void {
    const rest = this.#text.slice(this.#at);
    const redirection = REDIRECTION.exec(rest)?.[0];
    if (BLANK.test(sign)) this.#copy(1);
    else if (rest.startsWith("\\\n")) this.#copy(2);
    else if (sign === "\n") this.#endLine();
    else if (sign === "#") this.#copy(/^[^\n]*/.exec(rest)?.[0].length ?? 0);
    else if (redirection !== undefined) this.#readRedirection(redirection);
    else if (this.#isCommand && rest.startsWith("((")) this.#copy(endOfPair(rest, 0, "(", ")"));
    else if (/[;&|()]/.test(sign)) {
      this.#copy(1);
      this.#isCommand = true;
      this.#checksNext = false;
    } else this.#readWord();
  }

  #copy(length: number): void {
    this.#output += this.#text.slice(this.#at, this.#at + length);
    this.#at += length;
  }

  #endLine(): void {
    this.#copy(1);
    this.#isCommand = true;
    this.#checksNext = false;
    for (const { end, stripsTabs, isQuoted } of this.#documents) {
      for (;;) {
        const line = /^[^\n]*\n?/.exec(this.#text.slice(this.#at))?.[0] ?? "";
        if (line === "") return; // the document does not end
        if (isQuoted) this.#copy(line.length);
        else this.#copyWord(this.#at + line.length);
        const bare = line.replace(/\n$/, "");
        if ((stripsTabs ? bare.replace(/^\t+/, "") : bare) === end) break;
      }
    }
    this.#documents = [];
  }

  #readRedirection(redirection: string): void {
    this.#copy(redirection.length);
    this.#copy(/^[ \t]*/.exec(this.#text.slice(this.#at))?.[0].length ?? 0);
    const target = this.#text.slice(this.#at, this.#endOfWord());
    this.#copy(target.length);
    if (/<<-?$/.test(redirection) && !redirection.endsWith("<<<")) {
      const end = target.replace(/\\(.)|['"]/gs, "$1");
      this.#documents.push({ end, stripsTabs: redirection.endsWith("-"), isQuoted: end !== target });
    }
  }

  #readWord(): void {
    const end = this.#endOfWord();
    const word = this.#text.slice(this.#at, end);
    const value = this.#isCommand || this.#checksNext ? this.#valueOf(word) : undefined;
    if (value !== undefined) {
      this.#text = value + this.#text.slice(end);
      this.#at = 0;
      this.#active.push({ name: word, left: this.#text.length - value.length });
      return;
    }
    this.#checksNext = false;
    if (word === "[[" && this.#isCommand) {
      const closed = /\s\]\](?=[\s;&|)]|$)/.exec(this.#text.slice(end));
      this.#copy(end - this.#at + (closed ? closed.index + closed[0].length : 0));
      this.#isCommand = false;
      return;
    }
    this.#copyWord(end);
    if (word === "function") this.#skipName();
    else if (!this.#isCommand || BEFORE_COMMAND.has(word) || ASSIGNMENT.test(word)) return;
    else this.#isCommand = false;
  }

  #valueOf(word: string): string | undefined {
    return this.#active.some(({ name }) => name === word) ? undefined : this.#aliases.get(word);
  }

  #leaveAliases(): void {
    for (;;) {
      const last = this.#active.at(-1);
      if (!last || this.#text.length - this.#at > last.left) return;
      this.#active.pop();
      const value = this.#aliases.get(last.name) ?? "";
      if (BLANK.test(value.at(-1) ?? "")) this.#checksNext = true;
    }
  }

  /** Copies a word, and replaces aliases in its substitutions. */
  #copyWord(end: number): void {
    while (this.#at < end) {
      const rest = this.#text.slice(this.#at, end);
      const [substitution = ""] = /^(?:\$\((?!\()|[<>]\()/.exec(rest) ?? [];
      if (substitution !== "") {
        const inside = rest.slice(
          substitution.length,
          endOfPair(rest, substitution.length - 1, "(", ")") - 1,
        );
        const expanded = expandAliases(inside, this.#aliases).text;
        this.#output += `${substitution}${expanded})`;
        this.#at += substitution.length + inside.length + 1;
      } else if (rest.startsWith("`")) {
        const length = lengthOfPart(rest);
        this.#output += `\`${expandAliases(rest.slice(1, length - 1), this.#aliases).text}\``;
        this.#at += length;
      } else this.#copy(lengthOfPart(rest));
    }
  }

  #endOfWord(): number {
    let at = this.#at;
    while (at < this.#text.length) {
      const rest = this.#text.slice(at);
      const isArray = rest.startsWith("(") && ASSIGNMENT.test(this.#text.slice(this.#at, at)) &&
        this.#text.charAt(at - 1) === "=";
      if (!isArray && /^(?:[ \t\n;&|()]|[<>](?!\())/.test(rest)) break;
      at += isArray ? endOfPair(rest, 0, "(", ")") : lengthOfPart(rest);
    }
    return at;
  }

  #skipName(): void {
    const [name = ""] = /^[ \t]+[^\s;&|()<>]+/.exec(this.#text.slice(this.#at)) ?? [];
    this.#copy(name.length);
  }
}

/** Returns the length of the first part of a word: a quoted text, an expansion or a sign. */
function lengthOfPart(text: string): number {
  if (text.startsWith("\\")) return Math.min(2, text.length);
  if (text.startsWith("'")) return endOfQuote(text, 0, "'");
  if (text.startsWith("$'")) return endOfQuote(text, 1, "'", { escapes: true });
  if (text.startsWith('"')) return endOfQuote(text, 0, '"', { escapes: true });
  if (text.startsWith("`")) return endOfQuote(text, 0, "`", { escapes: true });
  if (text.startsWith("${")) return endOfPair(text, 1, "{", "}");
  if (/^(?:\$|[<>])\(/.test(text)) return endOfPair(text, 1, "(", ")");
  return 1;
}

function endOfQuote(text: string, start: number, quote: string, { escapes = false } = {}): number {
  let at = start + 1;
  while (at < text.length && text.charAt(at) !== quote) {
    if (escapes && text.charAt(at) === "\\") at += 2;
    else if (quote === '"' && /^\$[({]/.test(text.slice(at, at + 2))) at += lengthOfPart(text.slice(at));
    else at++;
  }
  return Math.min(at + 1, text.length);
}

/** Returns the end of a text in brackets, which begins at `start`. */
function endOfPair(text: string, start: number, open: string, close: string): number {
  let depth = 0;
  let at = start;
  while (at < text.length) {
    const sign = text.charAt(at);
    if (sign === open) depth++;
    if (sign === close && --depth === 0) return at + 1;
    at += sign === open || sign === close ? 1 : lengthOfPart(text.slice(at));
  }
  return text.length;
}
