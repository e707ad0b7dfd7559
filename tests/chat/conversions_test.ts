import { assertEquals, assertThrows } from "@std/assert";
import { ChatFormat } from "../../src/chat/chat_format.ts";
import { textToHistory, tokensToHistory } from "../../src/chat/to_history.ts";
import { historyToText, tokensToText } from "../../src/chat/to_text.ts";
import { historyToTokens, textToTokens } from "../../src/chat/to_tokens.ts";
import { History } from "../../src/history.ts";
import { tinyTokenizer } from "../tiny_tokenizer.ts";

const tokenizer = await tinyTokenizer();
const format = new ChatFormat({ tokenizer });
const prompt = History.fromChats([{ role: "user", content: "q" }]);
const response = History.fromChats([{ role: "assistant", content: "hello" }]);
const full = prompt.extend(response);
const START = "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n";
const SAID = "hello<|im_end|>\n";
const text = { prompt: START, response: SAID, full: START + SAID };
const tokens = {
  prompt: tokenizer.encode(START),
  response: tokenizer.encode(SAID),
  full: tokenizer.encode(START + SAID),
};

Deno.test("historyToText() writes the prompt with a generation prompt, and as response what is behind it", () => {
  assertEquals(historyToText({ prompt, full }, format), text);
  assertEquals(historyToText({ prompt, response }, format), text);
  assertEquals(historyToText({ prompt }, format), { prompt: START });
  assertEquals(historyToText({ full }, format), { full: START + SAID });
});

Deno.test("historyToText() refuses parts that do not fit together", () => {
  assertThrows(
    () => historyToText({ prompt: response, full }, format),
    RangeError,
    "Full text does not start with prompt text",
  );
  assertThrows(() => historyToText({ response }, format), TypeError, "its prompt must be given");
});

Deno.test("historyToTokens() and textToTokens() put the response's ids behind the prompt's", () => {
  assertEquals(historyToTokens({ prompt, full }, format), tokens);
  assertEquals(textToTokens(text, tokenizer), tokens);
  assertEquals(textToTokens({ prompt: START, full: START + SAID }, tokenizer), tokens);
  assertEquals(textToTokens({ full: SAID }, tokenizer), { full: tokens.response });
  assertThrows(() => textToTokens({ prompt: "x", full: "y" }, tokenizer), RangeError, "does not start with");
  assertThrows(
    () => textToTokens(text, tokenizer, { padding: true }),
    RangeError,
    "Padding is not yet supported",
  );
  const untold = new ChatFormat({ family: "chatml" });
  assertThrows(() => historyToTokens({ prompt }, untold), TypeError, "must have a tokenizer");
});

Deno.test("tokensToText() reads ids, but not padded ones", () => {
  assertEquals(tokensToText(tokens, tokenizer), text);
  assertEquals(tokensToText({ response: [], padded: false }, tokenizer), { response: "" });
  assertThrows(() => tokensToText({ ...tokens, padded: true }, tokenizer), RangeError, "padded tokens");
});

Deno.test("textToHistory() and tokensToHistory() read messages back", () => {
  for (const read of [textToHistory(text, format), tokensToHistory(tokens, format)]) {
    assertEquals(read.prompt?.toChats(), prompt.toChats());
    assertEquals(read.response?.toChats(), response.toChats());
    assertEquals(read.full?.toChats(), full.toChats());
  }
  assertEquals(textToHistory({ full: text.full }, format).full?.length, 2);
  assertEquals(textToHistory({ prompt: START, response: SAID }, format).response?.length, 1);
  assertThrows(() => tokensToHistory({ ...tokens, padded: true }, format), RangeError, "padded tokens");
  const untold = new ChatFormat({ family: "chatml" });
  assertThrows(() => tokensToHistory(tokens, untold), TypeError, "must have a tokenizer");
});

Deno.test("textToHistory() takes an answer that says nothing for an empty message of the assistant", () => {
  const whole = "<|im_start|>user\nq<|im_end|>\n";
  const { response } = textToHistory({ prompt: START, full: whole }, format);
  assertEquals(response?.toChats(), [{ role: "assistant", content: "" }]);
});
