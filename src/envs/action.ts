import { ArgumentTypeError } from "../errors.ts";
import { History } from "../history.ts";

/**
 * Response of the policy: messages, text, token ids, a command, or nothing for a step that the env skips.
 *
 * The members are distinguished by the key that they require. {@linkcode replyAction} makes an action of a text.
 */
export type Action = MessageAction | TextAction | TokenAction | CommandAction | SkipAction;

/** Response in either of two forms. */
export type ResponseOrFull<T> =
  | {
    /** Response of the policy, which is appended to the prompt. */
    readonly response: T;
    /** Prompt and response in one; takes precedence over `response`. */
    readonly full?: T;
  }
  | { readonly response?: T; readonly full: T };

/** Properties of every action. */
export interface ActionBase {
  /** True if the env must skip this step; transforms still see it. */
  readonly skip?: boolean;
  /** Data that transforms pass on to each other. No env reads it. */
  readonly info?: Readonly<Record<string, unknown>>;
}

/** Response of the policy as messages, possibly also as text, token ids or command. */
export interface MessageAction extends ActionBase {
  /** Messages of the policy. */
  readonly history: ResponseOrFull<History>;
  readonly text?: ResponseOrFull<string> | undefined;
  readonly tokens?: TokenResponse | undefined;
  readonly command?: string | undefined;
}

/** Response of the policy as text, for an env in text mode. */
export interface TextAction extends ActionBase {
  readonly text: ResponseOrFull<string>;
  readonly tokens?: TokenResponse | undefined;
  readonly command?: string | undefined;
  readonly history?: undefined;
}

/** Response of the policy as the sampled token ids, for an env in tokens mode. */
export interface TokenAction extends ActionBase {
  readonly tokens: TokenResponse;
  readonly command?: string | undefined;
  readonly history?: undefined;
  readonly text?: undefined;
}

/** Command for a workspace. Without it, the text of the reply is the command. */
export interface CommandAction extends ActionBase {
  readonly command: string;
  readonly history?: undefined;
  readonly text?: undefined;
  readonly tokens?: undefined;
}

/** Step that the env skips. */
export interface SkipAction extends ActionBase {
  readonly skip: true;
  readonly history?: undefined;
  readonly text?: undefined;
  readonly tokens?: undefined;
  readonly command?: undefined;
}

/** Sampled token ids, which are never tokenised again. */
export type TokenResponse = ResponseOrFull<readonly number[]> & {
  /** Log-probability of each token of the response. */
  readonly logProbs?: readonly number[];
};

/** Returns the action that adds one assistant message. */
export function replyAction(content: string): MessageAction {
  return { history: { response: History.fromChats([{ role: "assistant", content }]) } };
}

/**
 * Returns the conversation after an action: its `full`, or else the prompt followed by its `response`.
 *
 * @throws {TypeError} if the action has neither.
 */
export function historyAfter(prompt: History, action: Action): History {
  const { full, response } = action.history ?? {};
  if (full !== undefined) return full;
  if (response !== undefined && response.length > 0) return prompt.extend(response);
  const found = response === undefined ? describeAction(action) : "'history.response' has no message";
  throw new ArgumentTypeError(
    `Cannot step as the action must have 'history.full' or 'history.response': ${found}`,
  );
}

/** Keys of an action that hold its response. */
const RESPONSE_KEYS = ["history", "text", "tokens", "command"] as const;
const KEYS: ReadonlySet<string> = new Set([...RESPONSE_KEYS, "skip", "info"]);
const MAX_NAMED_KEYS = 8;
const MAX_KEY = 40;

/**
 * Checks the form of an action. Token ids are checked by the env that reads them.
 *
 * `what` begins the error message, such as `Cannot step`.
 *
 * @throws {TypeError} if the value is not an action; the message names what was found.
 */
export function requireAction(value: unknown, what = "Cannot step"): asserts value is Action {
  const action = asObject(value);
  if (action === undefined) {
    const hint = typeof value === "string" ? "; replyAction(text) makes an action of a text" : "";
    throw new ArgumentTypeError(`${what} as the action must be an object: found ${kindOf(value)}${hint}`);
  }
  const unknown = Object.keys(action).filter((key) => !KEYS.has(key));
  const hasResponse = RESPONSE_KEYS.some((key) => action[key] !== undefined);
  if (!hasResponse && action.skip !== true) {
    throw new ArgumentTypeError(
      `${what} as the action must have 'history', 'text', 'tokens', 'command' or 'skip: true': ` +
        describeAction(action),
    );
  }
  if (unknown.length > 0) {
    throw new ArgumentTypeError(`${what} as the action must have no other keys: found ${namesOf(unknown)}`);
  }
  requireResponse(action.history, { what, key: "history", needs: "a History", isValid: isHistory });
  requireResponse(action.text, { what, key: "text", needs: "a string", isValid: isText });
  requireResponse(action.tokens, { what, key: "tokens" });
  const { command, skip, info } = action;
  if (command !== undefined && !isText(command)) throw wrongType(what, "command", "a string", command);
  if (skip !== undefined && typeof skip !== "boolean") throw wrongType(what, "skip", "a boolean", skip);
  if (info !== undefined && asObject(info) === undefined) throw wrongType(what, "info", "an object", info);
}

interface ResponseCheck {
  readonly what: string;
  readonly key: string;
  /** Name of the type of both forms. Without it, their type is not checked. */
  readonly needs?: string;
  readonly isValid?: (value: unknown) => boolean;
}

function requireResponse(value: unknown, check: ResponseCheck): void {
  const { what, key, needs = "", isValid = () => true } = check;
  if (value === undefined) return;
  const parts = asObject(value);
  if (parts === undefined) throw wrongType(what, key, "an object with 'response' or 'full'", value);
  if (parts.response === undefined && parts.full === undefined) {
    throw new ArgumentTypeError(
      `${what} as the action must have '${key}.full' or '${key}.response': ${describeAction(parts)}`,
    );
  }
  for (const name of ["response", "full"]) {
    const part = parts[name];
    if (part !== undefined && !isValid(part)) throw wrongType(what, `${key}.${name}`, needs, part);
  }
}

function wrongType(what: string, key: string, needs: string, value: unknown): TypeError {
  return new ArgumentTypeError(`${what} as '${key}' of the action must be ${needs}: found ${kindOf(value)}`);
}

function isHistory(value: unknown): boolean {
  return value instanceof History;
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

/** Returns the value as an object with keys; `undefined` if it is not one. */
function asObject(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (Array.isArray(value) || value instanceof History) return undefined;
  return value as Readonly<Record<string, unknown>>;
}

/** Returns the end of a message about a missing key: the keys that were found. */
export function describeAction(value: object): string {
  const keys = Object.entries(value).flatMap(([key, part]) => part === undefined ? [] : [key]);
  return keys.length === 0 ? "it has none" : `found ${namesOf(keys)}`;
}

function namesOf(keys: readonly string[]): string {
  const names = keys.slice(0, MAX_NAMED_KEYS).map((key) => `'${key.slice(0, MAX_KEY)}'`);
  const more = keys.length > MAX_NAMED_KEYS ? [`${keys.length - MAX_NAMED_KEYS} more`] : [];
  return [...names, ...more].join(", ");
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return `${value}`;
  if (Array.isArray(value)) return "a list";
  if (value instanceof History) return "a History";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
