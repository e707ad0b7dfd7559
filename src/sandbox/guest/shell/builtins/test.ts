import { type Builtin, type BuiltinCall, complained } from "./builtin.ts";

/** Number of arguments up to which `test` has rules of its own for each number. */
const MAX_PLAIN = 4;

/**
 * `test` and `[` with `-a`, `-o` and parentheses between expressions, which the engine takes for a single expression. A
 * shorter one is left to the engine.
 */
export const testExpressions: Builtin = async (call) => {
  const { name, args } = call;
  const words = name === "[" ? args.slice(0, -1) : args;
  const number = unreadableNumber(words);
  if (number !== undefined) return complained(`${name}: ${number}: integer expression expected`, 2);
  const compared = compareLongNumbers(words);
  if (compared !== undefined) return { stdout: "", stderr: "", exitCode: compared ? 0 : 1 };
  if (words.length <= MAX_PLAIN || (name === "[" && args.at(-1) !== "]")) return undefined;
  if (!words.some((word) => ["-a", "-o", "(", "!"].includes(word))) return undefined;
  const reader = new ExpressionReader(words, call);
  const isTrue = await reader.readAny();
  if (reader.failure) return reader.failure;
  if (!reader.isAtEnd) return complained(`${name}: too many arguments`, 2);
  return { stdout: "", stderr: "", exitCode: isTrue ? 0 : 1 };
};

/** Returns the operand of a comparison of numbers that is none. The engine fails without a message. */
function unreadableNumber(words: readonly string[]): string | undefined {
  const [left = "", operator = "", right = ""] = words[0] === "!" ? words.slice(1) : words;
  if (words.length < 3 || !/^-(?:eq|ne|lt|le|gt|ge)$/.test(operator)) return undefined;
  return [left, right].find((word) => !/^\s*[-+]?\d+\s*$/.test(word));
}

/** Digits of a number that the engine's numbers hold exactly. */
const EXACT_DIGITS = 15;

/** Compares numbers of 64 bits, which the engine rounds. Returns `undefined` for any other expression. */
function compareLongNumbers(words: readonly string[]): boolean | undefined {
  const [left = "", operator = "", right = ""] = words;
  if (words.length !== 3 || !/^-(?:eq|ne|lt|le|gt|ge)$/.test(operator)) return undefined;
  if (left.length <= EXACT_DIGITS && right.length <= EXACT_DIGITS) return undefined;
  const [first, second] = [BigInt(left.trim()), BigInt(right.trim())];
  const order = first < second ? -1 : first > second ? 1 : 0;
  return { eq: order === 0, ne: order !== 0, lt: order < 0, le: order <= 0, gt: order > 0, ge: order >= 0 }[
    operator.slice(1)
  ];
}

class ExpressionReader {
  failure: ReturnType<typeof complained> | undefined;
  readonly #words: readonly string[];
  readonly #call: BuiltinCall;
  #at = 0;

  constructor(words: readonly string[], call: BuiltinCall) {
    this.#words = words;
    this.#call = call;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#words.length;
  }

  /** Reads expressions joined by `-o`. */
  async readAny(): Promise<boolean> {
    let isTrue = await this.#readAll();
    while (this.#take("-o")) isTrue = await this.#readAll() || isTrue;
    return isTrue;
  }

  async #readAll(): Promise<boolean> {
    let isTrue = await this.#readOne();
    while (this.#take("-a")) isTrue = await this.#readOne() && isTrue;
    return isTrue;
  }

  async #readOne(): Promise<boolean> {
    const [first, operator, third] = this.#words.slice(this.#at);
    const isBinary = operator !== undefined && third !== undefined &&
      /^(?:==?|!=|<|>|-eq|-ne|-lt|-le|-gt|-ge|-nt|-ot|-ef)$/.test(operator);
    if (isBinary) return await this.#run(3);
    if (first === "!") {
      this.#at++;
      return !await this.#readOne();
    }
    if (first === "(") {
      this.#at++;
      const isTrue = await this.readAny();
      if (!this.#take(")")) this.failure ??= complained(`${this.#call.name}: \`)' expected`, 2);
      return isTrue;
    }
    const isUnary = operator !== undefined && /^-[a-zA-Z]$/.test(first ?? "");
    return await this.#run(isUnary ? 2 : 1);
  }

  #take(word: string): boolean {
    if (this.#words[this.#at] !== word) return false;
    this.#at++;
    return true;
  }

  /** Evaluates an expression of some words. */
  async #run(count: number): Promise<boolean> {
    const words = this.#words.slice(this.#at, this.#at += count);
    if (words.length === 0) this.failure ??= complained(`${this.#call.name}: argument expected`, 2);
    const result = await this.#call.run("test", words);
    if (result.exitCode > 1) this.failure ??= result;
    return result.exitCode === 0;
  }
}
