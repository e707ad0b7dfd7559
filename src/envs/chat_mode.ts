import type { ChatFormat } from "../chat/chat_format.ts";
import { requireTokenIds, type Tokenizer } from "../chat/tokenizer.ts";
import { ArgumentTypeError } from "../errors.ts";
import type { History } from "../history.ts";
import { messageText } from "../message.ts";
import { type Action, describeAction, historyAfter } from "./action.ts";
import type { Observation } from "./env.ts";

/** Prompt of an observation in addition to the history: none, as text, or as tokens. */
export type ChatView = Pick<Observation, "text" | "tokens">;

/** Result of {@linkcode ChatMode.next}. */
export interface ModeStep {
  readonly view: ChatView;
  /** Response as text, with the token that ends its turn. Left out in history mode. */
  readonly response?: string;
}

/** Form in which an env shows its conversation and takes responses. */
export interface ChatMode {
  start(prompt: History): ChatView;
  /** @throws {TypeError} if the action has no response, or changes the prompt. */
  next(before: Observation, action: Action): ModeStep;
}

/** Messages only. */
const historyMode: ChatMode = { start: () => ({}), next: () => ({ view: {} }) };

/** Returns the text mode: the response is appended to the prompt, without the header of the next turn. */
function textMode(format: ChatFormat): ChatMode {
  return {
    start: (prompt) => ({ text: { prompt: format.render(prompt, { addGenerationPrompt: true }) } }),
    next: (before, action) => {
      const prompt = before.text?.prompt ?? "";
      const { full, response } = action.text ?? {};
      if (full === undefined) {
        const text = response ?? responseInHistory("text", before, action);
        return { view: { text: { prompt: prompt + text } }, response: text };
      }
      if (!full.startsWith(prompt)) throw changedPrompt("text.full");
      return { view: { text: { prompt: full } }, response: full.slice(prompt.length) };
    },
  };
}

/** Returns the tokens mode: sampled ids are appended to the prompt and never tokenised again. */
function tokensMode(format: ChatFormat, tokenizer: Tokenizer): ChatMode {
  return {
    start: (prompt) => {
      const text = format.render(prompt, { addGenerationPrompt: true });
      return { tokens: { prompt: tokenizer.encode(text) } };
    },
    next: (before, action) => {
      const prompt = before.tokens?.prompt ?? [];
      const { full, response } = action.tokens ?? {};
      if (full === undefined) {
        const ids = response ?? tokenizer.encode(responseInHistory("tokens", before, action));
        requireTokenIds(ids, tokenizer, "tokens.response");
        return { view: { tokens: { prompt: prompt.concat(ids) } }, response: tokenizer.decode(ids) };
      }
      if (prompt.some((id, at) => id !== full[at])) throw changedPrompt("tokens.full");
      requireTokenIds(full, tokenizer, "tokens.full");
      return { view: { tokens: { prompt: full } }, response: tokenizer.decode(full.slice(prompt.length)) };
    },
  };
}

/** Returns the response of a policy that gives messages only, which works in every mode. */
function responseInHistory(mode: "text" | "tokens", before: Observation, action: Action): string {
  const { full, response } = action.history ?? {};
  if (full === undefined && response === undefined) {
    throw new ArgumentTypeError(
      `Cannot step as the action must have '${mode}.full' or '${mode}.response': ${describeAction(action)}`,
    );
  }
  const { prompt } = before.history;
  return [...historyAfter(prompt, action).slice(prompt.length)].map(messageText).join("");
}

function changedPrompt(key: string): TypeError {
  return new ArgumentTypeError(
    `Cannot step as '${key}' must start with the prompt: found a different beginning`,
  );
}

/**
 * Returns the form of an env in an input mode.
 *
 * @throws {RangeError} if the input mode is unknown.
 * @throws {TypeError} if the mode needs a tokenizer and it is missing.
 */
export function chatMode(inputMode: string, format: ChatFormat | undefined): ChatMode {
  if (inputMode === "history") return historyMode;
  if (format === undefined) throw new RangeError(`Invalid input mode: ${inputMode}`);
  if (inputMode === "text") return textMode(format);
  if (format.tokenizer !== undefined) return tokensMode(format, format.tokenizer);
  throw new TypeError(
    "Cannot create ChatEnv with inputMode 'tokens' as 'tokenizer' is required: it is missing",
  );
}
