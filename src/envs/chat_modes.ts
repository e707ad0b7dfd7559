import type { ChatFormat } from "../chat/chat_format.ts";
import { requireIds } from "../chat/require_ids.ts";
import type { Tokenizer } from "../chat/tokenizer.ts";
import type { History } from "../history.ts";
import { messageText } from "../message.ts";
import type { Action, Observation } from "./env.ts";
import { fullHistory } from "./full_history.ts";

/** What an env shows beside the history: nothing, text, or tokens. */
export type ChatView = Pick<Observation, "text" | "tokens">;

/** What a {@linkcode ChatMode} makes of an action. */
export interface Continuation {
  readonly view: ChatView;
  /** What the policy said, as text with the token that ends its turn, where it answered in the mode's own form. */
  readonly said?: string;
}

/** The form in which an env shows its conversation and takes answers. */
export interface ChatMode {
  start(prompt: History): ChatView;
  /** @throws {TypeError} when the action has no answer, or changes what was said before. */
  next(before: Observation, action: Action): Continuation;
}

/** Messages alone. */
export const historyMode: ChatMode = { start: () => ({}), next: () => ({ view: {} }) };

/** Text that is only ever added to: what the policy wrote is put behind the prompt, and no header behind that. */
export function textMode(format: ChatFormat): ChatMode {
  return {
    start: (prompt) => ({ text: { prompt: format.render(prompt, { addGenerationPrompt: true }) } }),
    next: (before, action) => {
      const prompt = before.text?.prompt ?? "";
      const { full, response } = action.text ?? {};
      if (full === undefined) {
        const said = response ?? saidInHistory("text", before, action);
        return { view: { text: { prompt: prompt + said } }, said };
      }
      if (!full.startsWith(prompt)) throw rewritten("text.full");
      return { view: { text: { prompt: full } }, said: full.slice(prompt.length) };
    },
  };
}

/** Token ids that are only ever added to: what was sampled is never tokenised again. */
export function tokensMode(format: ChatFormat, tokenizer: Tokenizer): ChatMode {
  return {
    start: (prompt) => {
      const text = format.render(prompt, { addGenerationPrompt: true });
      return { tokens: { prompt: tokenizer.encode(text) } };
    },
    next: (before, action) => {
      const prompt = before.tokens?.prompt ?? [];
      const { full, response } = action.tokens ?? {};
      if (full === undefined) {
        const ids = response ?? tokenizer.encode(saidInHistory("tokens", before, action));
        requireIds(ids, tokenizer, "tokens.response");
        return { view: { tokens: { prompt: prompt.concat(ids) } }, said: tokenizer.decode(ids) };
      }
      if (prompt.some((id, at) => id !== full[at])) throw rewritten("tokens.full");
      requireIds(full, tokenizer, "tokens.full");
      return { view: { tokens: { prompt: full } }, said: tokenizer.decode(full.slice(prompt.length)) };
    },
  };
}

/** Policies that only give messages may play in any mode: their words are what they wrote. */
function saidInHistory(mode: "text" | "tokens", before: Observation, action: Action): string {
  const { full, response } = action.history ?? {};
  if (full === undefined && response === undefined) {
    throw new TypeError(
      `Cannot step as the action must have '${mode}.full' or '${mode}.response': it has neither`,
    );
  }
  const { prompt } = before.history;
  return [...fullHistory(prompt, action).slice(prompt.length)].map(messageText).join("");
}

function rewritten(key: string): TypeError {
  return new TypeError(`Cannot step as '${key}' must start with the prompt: it has another beginning`);
}
