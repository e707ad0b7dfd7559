/**
 * Chat templates, tokenizers and conversions between messages, text and token ids.
 *
 * @example Render a chat as text
 * ```ts
 * import { renderChat } from "@paddock/paddock/chat";
 *
 * const text = renderChat([{ role: "user", content: "Hello" }], { family: "chatml", addGenerationPrompt: true });
 * if (!text.includes("Hello")) throw new Error(text);
 * ```
 *
 * @module
 */
export { TokenError } from "../src/errors.ts";
export {
  ChatFormat,
  type ChatFormatOptions,
  renderChat,
  type RenderChatOptions,
  type RenderOptions,
} from "../src/chat/chat_format.ts";
export type {
  ChatTemplate,
  GenerationMarks,
  InverseParser,
  InverseParserOptions,
} from "../src/chat/chat_template.ts";
export type { TemplateMessage } from "../src/chat/template_messages.ts";
export {
  type AddChatTemplateOptions,
  ChatTemplates,
  type ChooseTemplateOptions,
} from "../src/chat/chat_templates.ts";
export {
  type ChatHistory,
  type ChatText,
  type ChatTokens,
  fromText,
  type FromTextOptions,
  historyToText,
  historyToTokens,
  textToHistory,
  textToTokens,
  type TextToTokensOptions,
  tokensToHistory,
  tokensToText,
} from "../src/chat/conversions.ts";
export { loadTokenizer, type LoadTokenizerOptions } from "../src/chat/load_tokenizer.ts";
export { tokenizeChat, type TokenizedChat } from "../src/chat/tokenize_chat.ts";
export type { Tokenizer } from "../src/chat/tokenizer.ts";
export type { ChatTurn } from "../src/chat/turn_tail.ts";
export { type SampledTurn, type TurnTokens, turnTokens } from "../src/chat/turns.ts";
export { TokenFormat, type TokenFormatOptions } from "../src/rollout/tokens/token_format.ts";
