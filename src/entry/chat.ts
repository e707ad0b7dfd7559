/**
 * Chat templates, tokenizers and conversions between messages, text and token ids.
 *
 * @example Render a chat as text
 * ```ts ignore
 * import { History } from "@paddock/paddock";
 * import { renderChat } from "@paddock/paddock/chat";
 *
 * const text = renderChat([{ role: "user", content: "Hello" }], { addGenerationPrompt: true });
 * if (!text.includes("Hello")) throw new Error(text);
 * ```
 *
 * @module
 */
export { TokenError } from "../errors.ts";
export {
  ChatFormat,
  type ChatFormatOptions,
  renderChat,
  type RenderChatOptions,
  type RenderOptions,
} from "../chat/chat_format.ts";
export type {
  ChatTemplate,
  GenerationMarks,
  InverseParser,
  InverseParserOptions,
} from "../chat/chat_template.ts";
export {
  type AddChatTemplateOptions,
  ChatTemplates,
  type ChooseTemplateOptions,
} from "../chat/chat_templates.ts";
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
} from "../chat/conversions.ts";
export { loadTokenizer, type LoadTokenizerOptions } from "../chat/load_tokenizer.ts";
export { tokenizeChat, type TokenizedChat } from "../chat/tokenize_chat.ts";
export type { Tokenizer } from "../chat/tokenizer.ts";
export { type ChatTurn, type SampledTurn, type TurnTokens, turnTokens } from "../chat/turns.ts";
export { TokenFormat, type TokenFormatOptions } from "../rollout/tokens/token_format.ts";
