import { JSON_LIMITS } from "../../json.ts";
import type { ParameterCall } from "./parameter_calls.ts";
import type { CallRegions } from "./thoughts.ts";

/** Text before each tag of MiniMax M3's calls. */
const MARK = "]<]minimax[>[";
const OPEN = `${MARK}<tool_call>`;
const CLOSE = `${MARK}</tool_call>`;
const CALL = /\s*\]<\]minimax\[>\[<invoke name=["']?([^"'>\s]{1,256})["']?>/y;
const CALL_END = /\s*\]<\]minimax\[>\[<\/invoke>/y;
const ELEMENT = /\s*\]<\]minimax\[>\[<([^/<>\n][^<>\n]{0,255})>/y;
/** Marks around calls in a reply. */
export const ELEMENT_REGIONS: CallRegions = {
  open: /\]<\]minimax\[>\[<tool_call>(?=\s*\]<\]minimax\[>\[<invoke )/,
  close: CLOSE,
};
/** Name of the elements of a list. */
const ITEM = "item";

/** Value of an element: the text, or the values of the inner elements. */
type ElementValue = string | ElementValue[] | { [name: string]: ElementValue };

/** True if a chat template writes calls as MiniMax M3's does. */
export function isElementTemplate(source: string): boolean {
  return source.includes(MARK);
}

/**
 * Finds the calls in a text of MiniMax M3: `<tool_call><invoke name="n"><key>value</key></invoke></tool_call>` with a mark
 * before each tag. Objects and lists are nested elements; elements of a list have the name `item`.
 *
 * @param most Maximum number of calls. Text after them is not searched.
 */
export function findElementCalls(text: string, most = 1_000): { text: string; calls: ParameterCall[] } {
  const calls: ParameterCall[] = [];
  let rest = "";
  let at = 0;
  for (let start = text.indexOf(OPEN); start >= 0 && calls.length < most; start = text.indexOf(OPEN, at)) {
    const scanner = new ElementScanner(text, start + OPEN.length);
    calls.push(...scanner.calls(most - calls.length));
    rest += text.slice(at, start);
    const close = text.indexOf(CLOSE, scanner.at);
    at = close < 0 ? text.length : close + CLOSE.length;
  }
  return { text: rest + text.slice(at), calls };
}

/** Reads the calls of a group. */
class ElementScanner {
  readonly #text: string;
  at: number;
  #values = 0;

  constructor(text: string, at: number) {
    this.#text = text;
    this.at = at;
  }

  calls(most: number): ParameterCall[] {
    const calls: ParameterCall[] = [];
    while (calls.length < most) {
      const name = this.#match(CALL)?.[1];
      if (name === undefined) break;
      const call = this.#call(name);
      calls.push(call);
      if (call.fault !== undefined) return calls;
    }
    if (calls.length > 0) return calls;
    return [{ arguments: {}, fault: "a call must begin with the name of a tool in its tag" }];
  }

  #call(name: string): ParameterCall {
    try {
      const entries = this.#elements(1);
      const isClosed = this.#match(CALL_END) !== undefined;
      if (!isClosed && this.#text.slice(this.at).trim() !== "") {
        throw new SyntaxError("there must be only parameters in a call");
      }
      return { name, arguments: Object.fromEntries(entries), ...(!isClosed && { isClosed }) };
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return { name, arguments: {}, fault: error.message };
    }
  }

  #elements(depth: number): [string, ElementValue][] {
    const entries: [string, ElementValue][] = [];
    for (let name = this.#match(ELEMENT)?.[1]; name !== undefined; name = this.#match(ELEMENT)?.[1]) {
      if (depth > JSON_LIMITS.depth || ++this.#values > JSON_LIMITS.values) {
        throw new SyntaxError("the arguments are too large or nested too deeply");
      }
      entries.push([name, this.#value(name, depth)]);
    }
    return entries;
  }

  #value(name: string, depth: number): ElementValue {
    const start = this.at;
    const end = `${MARK}</${name}>`;
    const children = this.#elements(depth + 1);
    const close = this.#text.indexOf(end, this.at);
    if (close < 0) throw new SyntaxError(`the parameter '${name}' must end with </${name}>`);
    const between = this.#text.slice(this.at, close);
    this.at = close + end.length;
    if (children.length === 0 || between.trim() !== "") return this.#text.slice(start, close);
    if (children.every(([name]) => name === ITEM)) return children.map(([, value]) => value);
    return Object.fromEntries(children); // which treats a key named __proto__ like any other
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.#text) ?? undefined;
    this.at += match?.[0].length ?? 0;
    return match;
  }
}
