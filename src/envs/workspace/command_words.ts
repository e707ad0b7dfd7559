/** Words behind which a further command begins, and programs that start the one that they are given. */
const OPENERS = new Set(["if", "then", "elif", "else", "while", "until", "do", "!", "{", "time"]);
const STARTERS = new Set(["sudo", "env", "command", "builtin", "exec", "nice", "nohup", "timeout", "xargs"]);
const ASSIGNMENT = /^[A-Za-z_]\w*\+?=/;
/** A word that a starter takes for itself. */
const ITS_OWN = /^(?:-|\d+(?:\.\d+)?[smhd]?$)/;

/** A quoted stretch, a character that is escaped, or a plain one. */
const PIECE = /'[^']*'|"(?:[^"\\]|\\[\s\S])*"|\\[\s\S]|[^\s;&|()<>`'"\\]|\$(?!\()/y;

/**
 * The words of a command line that name what is run: not arguments, comments, assignments, nor what a here-document
 * or a quoted text holds. What a program makes of its arguments is not looked into.
 */
export function commandWords(command: string): string[] {
  return new CommandLine(command).read();
}

class CommandLine {
  readonly #text: string;
  readonly #found: string[] = [];
  readonly #endsOfDocuments: string[] = [];
  #at = 0;
  /** Whether the next word names what is run. */
  #starts = true;
  #behindStarter = false;

  constructor(text: string) {
    this.#text = text;
  }

  read(): string[] {
    while (this.#at < this.#text.length) {
      const sign = this.#text[this.#at] ?? "";
      if (sign === "\n") this.#endLine();
      else if (/\s/.test(sign)) this.#at++;
      else if (sign === "#") this.#skipTo("\n");
      else if (sign === "<" || sign === ">") this.#redirect();
      else if (/[;&|(`]/.test(sign)) this.#begin();
      else if (sign === ")") this.#at++;
      else this.#word();
    }
    return this.#found;
  }

  #begin(): void {
    this.#at++;
    this.#starts = true;
    this.#behindStarter = false;
  }

  #word(): void {
    const word = this.#readWord();
    if (!this.#starts || ASSIGNMENT.test(word) || OPENERS.has(word)) return;
    if (this.#behindStarter && ITS_OWN.test(word)) return;
    this.#found.push(word);
    this.#behindStarter = STARTERS.has(word);
    this.#starts = this.#behindStarter;
  }

  /** Takes one word without its quotes; at least one character, so that it always goes on. */
  #readWord(): string {
    let word = "";
    const from = this.#at;
    for (;;) {
      PIECE.lastIndex = this.#at;
      const [piece] = PIECE.exec(this.#text) ?? [];
      if (piece === undefined) break;
      this.#at += piece.length;
      word += /^['"]/.test(piece) ? piece.slice(1, -1) : piece.replace(/^\\/, "");
    }
    if (this.#at === from) this.#at++;
    return word;
  }

  #redirect(): void {
    const [operator = ""] = /^(?:<<<|<<-?|>>|[<>]&?|>\|)/.exec(this.#text.slice(this.#at)) ?? [];
    this.#at += Math.max(1, operator.length);
    while (/[ \t]/.test(this.#text[this.#at] ?? "")) this.#at++;
    if (this.#text[this.#at] === "(") return;
    const target = this.#readWord();
    if (/^<<-?$/.test(operator)) this.#endsOfDocuments.push(target);
  }

  /** Goes on behind the here-documents that begin with the next line. */
  #endLine(): void {
    this.#begin();
    for (const end of this.#endsOfDocuments.splice(0)) {
      while (this.#at < this.#text.length) {
        const from = this.#at;
        this.#skipTo("\n");
        const line = this.#text.slice(from, this.#at++);
        if (line.replace(/^\t+/, "") === end) break;
      }
    }
  }

  #skipTo(sign: string): void {
    const at = this.#text.indexOf(sign, this.#at);
    this.#at = at === -1 ? this.#text.length : at;
  }
}
