import { errorMessage } from "../../errors.ts";
import { JSON_LIMITS, parseUntrustedJson } from "../../json.ts";
import { exactText } from "../../numbers/exact_numbers.ts";
import type { ToolCall } from "../../message.ts";

const OPEN = "<|tool_call>call:";
const CLOSE = "<tool_call|>";
const RESULT = "response:";
const QUOTE = '<|"|>';
const NAME = /[^\s{}<>]{1,256}/y;
const KEY = /[^\s:,{}[\]<>]+/y;
const SCALAR = /null|true|false|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
/** Null, in the form of Gemma 4's first templates in earlier calls. */
const NONE = /None\b/y;
const SPACE = /\s*/y;

/** A call in the syntax of Gemma 4, or the reason why the call could not be read. */
export interface GemmaCall {
  readonly name: string;
  /** Arguments as JSON text. */
  readonly json?: string;
  readonly fault?: string;
}

/** True if a chat template writes calls as Gemma 4's does. */
export function isGemmaTemplate(source: string): boolean {
  return source.includes(OPEN);
}

/**
 * Finds the calls in a text of Gemma 4: `<|tool_call>call:name{key:value}<tool_call|>`. Strings stand between `<|"|>`;
 * keys of the arguments are bare, and keys of nested objects are strings.
 *
 * @param most Maximum number of calls. Text after them is not searched.
 */
export function findGemmaCalls(text: string, most = 1_000): { text: string; calls: GemmaCall[] } {
  const calls: GemmaCall[] = [];
  let rest = "";
  let at = 0;
  for (let start = text.indexOf(OPEN); start >= 0 && calls.length < most; start = text.indexOf(OPEN, at)) {
    rest += text.slice(at, start);
    const scanner = new GemmaScanner(text, start + OPEN.length);
    calls.push(scanner.call());
    const close = text.indexOf(CLOSE, scanner.at);
    at = close < 0 ? text.length : close + CLOSE.length;
  }
  return { text: rest + text.slice(at), calls };
}

/** Splits a reply of Gemma 4 into the fields of the template. A call that cannot be read stays text. */
export function splitGemmaReply(text: string): { content: string; calls?: readonly ToolCall[] } {
  const found = findGemmaCalls(text);
  if (found.calls.length === 0 || found.calls.some(({ fault }) => fault !== undefined)) {
    return { content: text };
  }
  return { content: found.text, calls: found.calls.map(toToolCall) };
}

/**
 * Reads the result of a call, `response:name{value:text}`. A result with other fields is given as JSON; a result
 * that cannot be read is given unchanged.
 */
export function readGemmaResult(text: string): { name?: string; content: string } {
  const start = text.indexOf(RESULT);
  const { name, json, fault } = new GemmaScanner(text, start + RESULT.length).call();
  if (start < 0 || json === undefined || fault !== undefined) return { content: text };
  const { value, ...others } = parseUntrustedJson(json) as Record<string, unknown>;
  return { name, content: typeof value === "string" && Object.keys(others).length === 0 ? value : json };
}

function toToolCall({ name, json = "{}" }: GemmaCall): ToolCall {
  const exact = exactText(json);
  const args = parseUntrustedJson(json) as Record<string, unknown>;
  return { name, arguments: args, ...(exact !== undefined && { arguments_text: exact }) };
}

/** Converts a call to JSON. */
class GemmaScanner {
  readonly #text: string;
  at: number;
  #values = 0;

  constructor(text: string, at: number) {
    this.#text = text;
    this.at = at;
  }

  call(): GemmaCall {
    const name = this.#match(NAME) ?? "";
    try {
      if (name === "") this.#fail("a name");
      return { name, json: this.#object(1) };
    } catch (error) {
      return { name, fault: errorMessage(error) };
    }
  }

  #value(depth: number): string {
    if (depth > JSON_LIMITS.depth || ++this.#values > JSON_LIMITS.values) {
      throw new SyntaxError("the arguments are too large or nested too deeply");
    }
    if (this.#take(QUOTE)) return this.#string();
    if (this.#text[this.at] === "{") return this.#object(depth);
    if (this.#take("[")) {
      return `[${this.#list("]", () => this.#value(depth + 1)).join(", ")}]`;
    }
    if (this.#match(NONE)) return "null";
    return this.#match(SCALAR) ?? this.#fail("a value");
  }

  #object(depth: number): string {
    if (!this.#take("{")) this.#fail("'{'");
    const fields = this.#list("}", () => {
      const key = this.#take(QUOTE)
        ? this.#string()
        : JSON.stringify(this.#match(KEY) ?? this.#fail("a key"));
      this.#match(SPACE);
      if (!this.#take(":")) this.#fail("':'");
      this.#match(SPACE);
      return `${key}: ${this.#value(depth + 1)}`;
    });
    return `{${fields.join(", ")}}`;
  }

  #list(close: string, item: () => string): string[] {
    const items: string[] = [];
    this.#match(SPACE);
    while (!this.#take(close)) {
      if (items.length > 0 && !this.#take(",")) this.#fail(`',' or '${close}'`);
      this.#match(SPACE);
      items.push(item());
      this.#match(SPACE);
    }
    return items;
  }

  #string(): string {
    const end = this.#text.indexOf(QUOTE, this.at);
    if (end < 0) this.#fail(`a closing ${QUOTE}`);
    const value = this.#text.slice(this.at, end);
    this.at = end + QUOTE.length;
    return JSON.stringify(value);
  }

  #take(text: string): boolean {
    if (!this.#text.startsWith(text, this.at)) return false;
    this.at += text.length;
    return true;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.#text)?.[0];
    this.at += match?.length ?? 0;
    return match;
  }

  #fail(needed: string): never {
    const found = this.#text.slice(this.at, this.at + 20);
    throw new SyntaxError(`there must be ${needed}: found ${JSON.stringify(found)}`);
  }
}
