import { assertEquals, assertThrows } from "@std/assert";
import { ChatFormat } from "../../src/chat/chat_format.ts";
import {
  historyToText,
  historyToTokens,
  textToHistory,
  textToTokens,
  tokensToHistory,
  tokensToText,
} from "../../src/chat/conversions.ts";
import { History } from "../../src/history.ts";
import { tinyTokenizer } from "../tiny_tokenizer.ts";

const tokenizer = await tinyTokenizer();
const format = new ChatFormat({ tokenizer });
const prompt = History.fromChats([{ role: "user", content: "q" }]);
const response = History.fromChats([{ role: "assistant", content: "hello" }]);
const full = prompt.extend(response);
const START = "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n";
const REPLY = "hello<|im_end|>\n";
const text = { prompt: START, response: REPLY, full: START + REPLY };
const tokens = {
  prompt: tokenizer.encode(START),
  response: tokenizer.encode(REPLY),
  full: tokenizer.encode(START + REPLY),
};

Deno.test("historyToText() renders the prompt with a generation prompt, and the response as the text after it", () => {
  assertEquals(historyToText({ prompt, full }, format), text);
  assertEquals(historyToText({ prompt, response }, format), text);
  assertEquals(historyToText({ prompt }, format), { prompt: START });
  assertEquals(historyToText({ full }, format), { full: START + REPLY });
});

Deno.test("historyToText() throws when the full text does not begin with the prompt, or the prompt is missing", () => {
  assertThrows(
    () => historyToText({ prompt: response, full }, format),
    RangeError,
    "Full text does not start with prompt text",
  );
  assertThrows(() => historyToText({ response }, format), TypeError, "its prompt must be given");
});

Deno.test("historyToTokens() and textToTokens() append the response's ids to the prompt's", () => {
  assertEquals(historyToTokens({ prompt, full }, format), tokens);
  assertEquals(textToTokens(text, tokenizer), tokens);
  assertEquals(textToTokens({ prompt: START, full: START + REPLY }, tokenizer), tokens);
  assertEquals(textToTokens({ full: REPLY }, tokenizer), { full: tokens.response });
  assertThrows(() => textToTokens({ prompt: "x", full: "y" }, tokenizer), RangeError, "does not start with");
  assertThrows(
    () => textToTokens(text, tokenizer, { padding: true }),
    RangeError,
    "Padding is not yet supported",
  );
  const withoutTokenizer = new ChatFormat({ family: "chatml" });
  assertThrows(() => historyToTokens({ prompt }, withoutTokenizer), TypeError, "must have a tokenizer");
});

Deno.test("tokensToText() decodes ids and throws for padded ones", () => {
  assertEquals(tokensToText(tokens, tokenizer), text);
  assertEquals(tokensToText({ response: [], padded: false }, tokenizer), { response: "" });
  assertThrows(() => tokensToText({ ...tokens, padded: true }, tokenizer), RangeError, "padded tokens");
});

Deno.test("textToHistory() and tokensToHistory() parse the messages of each part", () => {
  for (const read of [textToHistory(text, format), tokensToHistory(tokens, format)]) {
    assertEquals(read.prompt?.toChats(), prompt.toChats());
    assertEquals(read.response?.toChats(), response.toChats());
    assertEquals(read.full?.toChats(), full.toChats());
  }
  assertEquals(textToHistory({ full: text.full }, format).full?.length, 2);
  assertEquals(textToHistory({ prompt: START, response: REPLY }, format).response?.length, 1);
  assertThrows(() => tokensToHistory({ ...tokens, padded: true }, format), RangeError, "padded tokens");
  const withoutTokenizer = new ChatFormat({ family: "chatml" });
  assertThrows(() => tokensToHistory(tokens, withoutTokenizer), TypeError, "must have a tokenizer");
});

Deno.test("textToHistory() returns an empty assistant message when the response is empty", () => {
  const fullText = "<|im_start|>user\nq<|im_end|>\n";
  const { response } = textToHistory({ prompt: START, full: fullText }, format);
  assertEquals(response?.toChats(), [{ role: "assistant", content: "" }]);
});
