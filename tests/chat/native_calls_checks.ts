/**
 * Compares chats with native calls with transformers 5.24.0, for the templates of TRL, axolotl and llama.cpp. `deno task
 * test:native-calls` runs this; it is not part of `deno task test`, since it needs the network once. It
 * installs the packages of template_packages.txt. PADDOCK_TEMPLATES names a folder with further templates.
 */
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { fileURLToPath } from "node:url";
import { ChatFormat, type RenderOptions } from "../../src/chat/chat_format.ts";
import type { Tokenizer } from "../../src/chat/tokenizer.ts";
import { TokenError } from "../../src/errors.ts";
import { History } from "../../src/history.ts";
import type { Message } from "../../src/message.ts";
import { parseMessage } from "../../src/parse_message.ts";
import { EpisodeWriter } from "../../src/rollout/tokens/episode_writer.ts";
import { TokenFormat } from "../../src/rollout/tokens/token_format.ts";
import { furtherTemplates, releasedTemplates } from "./released_templates.ts";
import { installTemplatePackages } from "./template_packages.ts";

const ORACLE = fileURLToPath(new URL("native_calls_oracle.py", import.meta.url));

async function runOracle(rows: readonly object[]): Promise<(string | null)[]> {
  const child = new Deno.Command(packages.python, {
    args: [ORACLE],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writing = new Blob([JSON.stringify(rows)]).stream().pipeTo(child.stdin);
  const { success, stdout, stderr } = await child.output();
  await writing;
  if (success) return JSON.parse(new TextDecoder().decode(stdout));
  throw new Error(`Cannot render by transformers: ${new TextDecoder().decode(stderr)}`);
}

const packages = await installTemplatePackages();

const TASK = { id: "calls", query: "q" };

const ARGUMENTS =
  '{"city": "Zürich", "now": true, "unit": null, "amount": 50.0, "account": 12345678901234567890, ' +
  '"at": [1, {"x": 2.5e-7}], "code": "  if a:\\n    b", ' +
  '"items": 1, "keys": [2], "values": "v", "get": {"pop": 0}}';
const CALL = { id: "call00001", type: "function", function: { name: "get_weather", arguments: ARGUMENTS } };
const OTHER = { id: "call00002", type: "function", function: { name: "get_items", arguments: "{}" } };
const QUESTION = { role: "user", content: "weather?" };
const ANSWER = { role: "assistant", content: "It is 21." };
const RESULTS = [["call00001", "get_weather"], ["call00002", "get_items"]].map(([tool_call_id, name]) => ({
  role: "tool",
  tool_call_id,
  name,
  content: "21 °C",
}));

/** Texts of a call that a template must show: its name, and a part of an argument that JSON may write with escapes. */
const SHOWN = ["get_weather", "rich"];

/** Chats with one call or two, with contents that are empty, null or text, and texts that must be shown. */
const CHATS = ["", null, "I look."].flatMap((content) => {
  const reply = (...tool_calls: object[]) => ({ role: "assistant", content, tool_calls });
  const [result, other] = RESULTS;
  const one = [QUESTION, reply(CALL)];
  return [
    { chat: one, shown: SHOWN },
    { chat: [...one, result], shown: SHOWN },
    { chat: [...one, result, ANSWER, QUESTION], shown: SHOWN },
    { chat: [QUESTION, reply(CALL, OTHER), result, other, ANSWER], shown: [...SHOWN, "get_items"] },
  ];
});

function toMessage(message: object | undefined, at: number): Message {
  const parsed = parseMessage(message, at);
  // chats of OpenAI's API have null beside calls, which renderChat() takes
  const isNull = message !== undefined && "content" in message && message.content === null;
  return isNull ? { ...parsed, content: null } as unknown as Message : parsed;
}

const templates = [...await releasedTemplates(packages), ...await furtherTemplates()];
const cases = CHATS.flatMap(({ chat, shown }) => [false, true].map((prompt) => ({ chat, prompt, shown })));
const texts = await runOracle(templates.flatMap(({ source }) => cases.map((one) => ({ source, ...one }))));

for (const [at, { name, tokenizer }] of templates.entries()) {
  Deno.test(`native calls with ${name} are rendered as by transformers, or refused`, () => {
    const format = formatOf(tokenizer);
    const found = cases.map(({ chat, prompt }) =>
      rendered(format, chat.map(toMessage), { addGenerationPrompt: prompt })
    );
    assertEquals(found, texts.slice(at * cases.length, (at + 1) * cases.length));
  });

  Deno.test(`native calls with ${name} are in the text, or refused, whatever stands beside them`, () => {
    const besides = [
      "<tool_call>",
      "I write <tool_call>get_weather</tool_call>.",
      "<think>\nhm\n</think>\n\nI look.",
    ];
    for (const trusted of [[], ["assistant"]]) {
      const format = formatOf(tokenizer, trusted);
      for (const content of besides) {
        for (const chat of [[], [RESULTS[0]], [RESULTS[0], ANSWER]]) {
          const reply = { role: "assistant", content, tool_calls: [CALL] };
          const text = rendered(format, [QUESTION, reply, ...chat].map(toMessage));
          if (text !== null) { for (const shown of SHOWN) assertStringIncludes(text, shown); }
        }
      }
    }
  });

  Deno.test(`append with ${name} keeps sampled calls, and refuses ids without the call of their message`, () => {
    const format = tokenFormatOf(tokenizer);
    if (format === undefined) return; // the template has no mode
    const called = toMessage({ role: "assistant", content: "", tool_calls: [CALL] }, 1);
    const write = (said: string) => {
      const writer = new EpisodeWriter({ tokenizer, family: "tokenizer", onRewrite: "keep", format });
      writer.start({ task: TASK, history: { prompt: History.fromChats([QUESTION]) } });
      const ids = tokenizer.encode(said);
      writer.reply({ message: called, tokens: { ids, logProbs: ids.map(() => -1) } });
      return tokenizer.decode(writer.tokens().ids);
    };
    const said = `{"name": "get_weather", "arguments": ${ARGUMENTS}}`;
    if (rendered(format.chat, [QUESTION]) === null) return; // the template needs another chat
    assertStringIncludes(write(said), said);
    assertThrows(() => write("I look."), TokenError, "must decode its ids to its text");
  });
}

Deno.test("native calls are shown by many templates", () => {
  const shown = texts.filter((text) => text !== null).length;
  print(
    `templates: ${templates.length}, chats: ${texts.length}, shown: ${shown}, refused: ${
      texts.length - shown
    }`,
  );
  assert(shown > texts.length / 4);
});

/** Returns the format of a template; `undefined` if the template is refused. */
function formatOf(tokenizer: Tokenizer, trusted: readonly string[] = []): ChatFormat | undefined {
  try {
    return new ChatFormat({ tokenizer, family: "tokenizer", trusted });
  } catch (error) {
    if (error instanceof SyntaxError) return undefined; // transformers refuses all its chats
    throw error;
  }
}

/** Returns the format for tokens; `undefined` if the template has no mode for them. */
function tokenFormatOf(tokenizer: Tokenizer): TokenFormat | undefined {
  try {
    const format = new TokenFormat({ tokenizer, family: "tokenizer" });
    format.requireWritable({ mode: "append", onRewrite: "keep" });
    return format;
  } catch {
    return undefined; // the table of docs/templates.md has the reason
  }
}

/** Renders a chat. Returns null if the template, or Paddock, refuses it. */
function rendered(
  format: ChatFormat | undefined,
  chat: readonly Message[],
  options: RenderOptions = {},
): string | null {
  try {
    return format?.render(chat, options) ?? null;
  } catch {
    return null;
  }
}

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
