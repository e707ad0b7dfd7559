/** A pattern has what JavaScript's regular expressions cannot express, or is no pattern of Python. */
export class PatternError extends SyntaxError {
  override readonly name = "PatternError";
}

/** Reads a pattern from left to right. */
export class PatternScanner {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  /** Index of the next character. Setting it goes back. */
  get at(): number {
    return this.#at;
  }

  set at(at: number) {
    this.#at = at;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#source.length;
  }

  /** Returns true if the pattern goes on with a character. */
  sees(character: string): boolean {
    return this.#source[this.#at] === character;
  }

  /** Reads a character if the pattern continues with the character. */
  take(character: string): boolean {
    if (!this.sees(character)) return false;
    this.#at++;
    return true;
  }

  /** Reads the next character. */
  next(): string {
    const code = this.#source.codePointAt(this.#at);
    if (code === undefined) return this.fail("an end after a backslash");
    const character = String.fromCodePoint(code);
    this.#at += character.length;
    return character;
  }

  /** Reads what a sticky pattern matches. */
  match(sticky: RegExp): RegExpExecArray | undefined {
    sticky.lastIndex = this.#at;
    const match = sticky.exec(this.#source) ?? undefined;
    if (match !== undefined) this.#at += match[0].length;
    return match;
  }

  /** @throws {PatternError} always */
  fail(what: string): never {
    throw new PatternError(`Cannot translate pattern as it has ${what} at character ${this.#at}`);
  }
}
