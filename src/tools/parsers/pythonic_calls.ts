import { type Message, messageText } from "../../message.ts";
import { rawNumber } from "../../json.ts";
import { invalidCall, parseArguments } from "./call_arguments.ts";
import { agenticFaultMessage } from "./fault_messages.ts";
import { stickyMatch } from "./json_scan.ts";
import { withoutCutCall } from "./cut_calls.ts";
import { nativeCalls, renderByCallId } from "./openai_calls.ts";
import {
  MAX_PARSED_CALLS,
  type ParsedCall,
  type ParsedMessage,
  type ToolCallParser,
} from "./tool_call_parser.ts";

const TAGS = /<\|python_(?:start|end)\|>/g;
const LIST = /\[\s*[A-Za-z_][\w.-]{0,255}\s*\(/;

/**
 * Returns a parser for calls as a Python list: `[search(query="a", limit=3), done()]`, as Llama 4 and other
 * models write them, with or without `<|python_start|>` and `<|python_end|>`. Arguments are named literals.
 * The text is the part before and after the list.
 */
export function pythonicCalls(): ToolCallParser {
  return { parse, faultText: agenticFaultMessage, render: renderByCallId };
}

function parse(message: Message): ParsedMessage {
  return nativeCalls(message) ?? withoutCutCall(parseText(messageText(message)), message);
}

function parseText(reply: string): ParsedMessage {
  const text = reply.replaceAll(TAGS, "");
  const start = LIST.exec(text)?.index;
  if (start === undefined) return { text: reply, calls: [] };
  try {
    const { calls, end } = scanPythonCalls(text, start);
    return { text: `${text.slice(0, start)}${text.slice(end)}`.trim(), calls };
  } catch (error) {
    return { text: text.slice(0, start).trim(), calls: [invalidCall(error)] };
  }
}

/** Calls, and the index of the first character after them. */
export interface ScannedCalls {
  readonly calls: readonly ParsedCall[];
  readonly end: number;
}

/** Deeper than real arguments, and far below the depth at which the stack overflows. */
const MAX_DEPTH = 200;

/** Maximum number of items of lists, dicts and calls. */
const MAX_ITEMS = 100_000;

const SPACE = /[ \t\n\r]*/y;
const NAME = /[A-Za-z_][\w.-]{0,255}/y;
const NUMBER = /[-+]?(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?/y;
const WORDS: Readonly<Record<string, unknown>> = {
  True: true,
  False: false,
  None: null,
  true: true,
  false: false,
  null: null,
};
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "\b", f: "\f", "\n": "" };
const CODES: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

/**
 * Reads a list of Python calls with named literal arguments at `start`.
 *
 * @throws {SyntaxError} when there is no valid list, with the error and its position, counted from `start`.
 */
function scanPythonCalls(text: string, start = 0): ScannedCalls {
  return new PythonScanner(text, start).scan();
}

/** Returns a Python number as JSON writes it: `.5` as `0.5`, `5.` as `5.0`. */
function jsonNumber(digits: string): string {
  return digits.replaceAll("_", "").replace(/^\+/, "").replace(/^(-?)\./, "$10.").replace(/\.(?!\d)/, ".0");
}

function keyText(key: unknown): string {
  return typeof key === "string" ? key : JSON.stringify(key);
}

class PythonScanner {
  readonly #text: string;
  readonly #start: number;
  #at: number;
  #itemCount = 0;

  constructor(text: string, start: number) {
    this.#text = text;
    this.#start = start;
    this.#at = start;
  }

  scan(): ScannedCalls {
    this.#expect("[");
    const calls = this.#items("]", () => this.#call());
    return { calls: calls.slice(0, MAX_PARSED_CALLS), end: this.#at };
  }

  #call(): ParsedCall {
    const name = this.#name();
    this.#expect("(");
    const entries = this.#items(")", (): [string, unknown] => {
      const key = this.#name();
      this.#expect("=");
      return [key, this.#value(0)];
    });
    return { name, ...parseArguments(JSON.stringify(Object.fromEntries(entries))) };
  }

  #value(depth: number): unknown {
    if (depth > MAX_DEPTH) this.#fail("a value must not be nested so deeply");
    this.#skip(SPACE);
    const first = this.#text[this.#at];
    if (first === "'" || first === '"') return this.#string();
    if (first === "[" || first === "(") {
      this.#at++;
      return this.#items(first === "[" ? "]" : ")", () => this.#value(depth + 1));
    }
    if (first === "{") return this.#dict(depth);
    return this.#word();
  }

  #dict(depth: number): Record<string, unknown> {
    this.#at++;
    const entries = this.#items("}", (): [string, unknown] => {
      const key = this.#value(depth + 1);
      this.#expect(":");
      return [keyText(key), this.#value(depth + 1)];
    });
    return Object.fromEntries(entries);
  }

  #word(): unknown {
    const name = this.#skip(NAME);
    if (Object.hasOwn(WORDS, name)) return WORDS[name];
    const digits = name === "" ? this.#skip(NUMBER) : "";
    if (digits !== "") return rawNumber(jsonNumber(digits));
    return this.#fail("an argument must be a literal");
  }

  #string(): string {
    const quote = this.#text[this.#at] ?? "";
    const fence = this.#text.startsWith(quote.repeat(3), this.#at) ? quote.repeat(3) : quote;
    this.#at += fence.length;
    let value = "";
    while (!this.#text.startsWith(fence, this.#at)) {
      const next = this.#text[this.#at];
      if (next === undefined || (next === "\n" && fence.length === 1)) this.#fail("a text must be closed");
      this.#at++;
      value += next === "\\" ? this.#escape() : next;
    }
    this.#at += fence.length;
    return value;
  }

  #escape(): string {
    const letter = this.#text[this.#at++] ?? "";
    const digits = CODES[letter];
    if (digits === undefined) return ESCAPES[letter] ?? (/['"\\]/.test(letter) ? letter : `\\${letter}`);
    const code = this.#text.slice(this.#at, this.#at + digits);
    const point = Number.parseInt(code, 16);
    const isCode = code.length === digits && /^[\da-f]+$/i.test(code) && point <= 0x10ffff;
    if (!isCode) this.#fail("an escape must be the number of a character");
    this.#at += digits;
    return String.fromCodePoint(point);
  }

  /**
   * Reads items separated by commas, with an optional comma after the last one, up to the closing character.
   */
  #items<T>(close: string, read: () => T): T[] {
    const items: T[] = [];
    while (!this.#take(close)) {
      if (items.length > 0) {
        this.#expect(",");
        if (this.#take(close)) break;
      }
      if (++this.#itemCount > MAX_ITEMS) this.#fail(`there must be at most ${MAX_ITEMS} values`);
      items.push(read());
    }
    return items;
  }

  #name(): string {
    this.#skip(SPACE);
    return this.#skip(NAME) || this.#fail("there must be a name");
  }

  #expect(sign: string): void {
    if (!this.#take(sign)) this.#fail(`there must be '${sign}'`);
  }

  #take(sign: string): boolean {
    this.#skip(SPACE);
    if (!this.#text.startsWith(sign, this.#at)) return false;
    this.#at += sign.length;
    return true;
  }

  #skip(pattern: RegExp): string {
    const match = stickyMatch(pattern, this.#text, this.#at) ?? "";
    this.#at += match.length;
    return match;
  }

  #fail(reason: string): never {
    throw new SyntaxError(`${reason} at character ${this.#at - this.#start}`);
  }
}
