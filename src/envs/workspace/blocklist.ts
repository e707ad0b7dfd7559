import type { AgentTools } from "./agent_config.ts";

/**
 * Returns the program for which a command is refused: a blocked program, or a program that would wait for keyboard
 * input.
 */
export function findBlockedProgram(
  command: string,
  { blocklist, blocklistStandalone }: Pick<AgentTools, "blocklist" | "blocklistStandalone">,
): string | undefined {
  const text = command.trim();
  if (blocklistStandalone.includes(text)) return text;
  const started = programsOf(command);
  return blocklist.find((name) => started.some((word) => word === name || word.endsWith(`/${name}`)));
}

/** Words after which another command begins. */
const OPENERS = new Set(["if", "then", "elif", "else", "while", "until", "do", "!", "{", "time"]);
/** Programs that start the program in their arguments. */
const STARTERS = new Set(["sudo", "env", "command", "builtin", "exec", "nice", "nohup", "timeout", "xargs"]);
const ASSIGNMENT = /^[A-Za-z_]\w*\+?=/;
/** An option or a duration that a starter takes before the program. */
const STARTER_ARGUMENT = /^(?:-|\d+(?:\.\d+)?[smhd]?$)/;

/** A quoted text, an escaped character, or a plain character. */
const PIECE = /'[^']*'|"(?:[^"\\]|\\[\s\S])*"|\\[\s\S]|[^\s;&|()<>`'"\\]|\$(?!\()/y;

/**
 * Returns the words of a command line that name the programs which the line runs.
 *
 * Arguments, comments, assignments, here-documents and quoted texts do not count. Programs that other programs start
 * from their arguments are not found.
 */
export function programsOf(command: string): string[] {
  return new CommandLine(command).read();
}

class CommandLine {
  readonly #text: string;
  readonly #found: string[] = [];
  readonly #documentEnds: string[] = [];
  #at = 0;
  /** True if the next word names a program. */
  #isProgramNext = true;
  #isAfterStarter = false;

  constructor(text: string) {
    this.#text = text;
  }

  read(): string[] {
    while (this.#at < this.#text.length) {
      const char = this.#text[this.#at] ?? "";
      if (char === "\n") this.#endLine();
      else if (/\s/.test(char)) this.#at++;
      else if (char === "#") this.#skipTo("\n");
      else if (char === "<" || char === ">") this.#redirect();
      else if (/[;&|(`]/.test(char)) this.#begin();
      else if (char === ")") this.#at++;
      else this.#word();
    }
    return this.#found;
  }

  #begin(): void {
    this.#at++;
    this.#isProgramNext = true;
    this.#isAfterStarter = false;
  }

  #word(): void {
    const word = this.#readWord();
    if (!this.#isProgramNext || ASSIGNMENT.test(word) || OPENERS.has(word)) return;
    if (this.#isAfterStarter && STARTER_ARGUMENT.test(word)) return;
    this.#found.push(word);
    this.#isAfterStarter = STARTERS.has(word);
    this.#isProgramNext = this.#isAfterStarter;
  }

  /** Reads a word without the quotes. Each call advances by a character or more, so that reading always ends. */
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
    if (/^<<-?$/.test(operator)) this.#documentEnds.push(target);
  }

  /** Skips the here-documents that begin on the next line. */
  #endLine(): void {
    this.#begin();
    for (const end of this.#documentEnds.splice(0)) {
      while (this.#at < this.#text.length) {
        const from = this.#at;
        this.#skipTo("\n");
        const line = this.#text.slice(from, this.#at++);
        if (line.replace(/^\t+/, "") === end) break;
      }
    }
  }

  #skipTo(char: string): void {
    const at = this.#text.indexOf(char, this.#at);
    this.#at = at === -1 ? this.#text.length : at;
  }
}
