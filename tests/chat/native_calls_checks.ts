/**
 * Compares chats with native calls with transformers 5.24.0, for the templates of TRL, axolotl and llama.cpp. `deno task
 * test:native-calls` runs this; it is not part of `deno task test`, since it needs the network once. It
 * installs the packages of template_packages.txt. PADDOCK_TEMPLATES names a folder with further templates.
 */
import { assert, assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { ChatFormat } from "../../src/chat/chat_format.ts";
import type { Message } from "../../src/message.ts";
import { parseMessage } from "../../src/parse_message.ts";
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

const ARGUMENTS =
  '{"city": "Zürich", "now": true, "unit": null, "amount": 50.0, "account": 12345678901234567890, ' +
  '"at": [1, {"x": 2.5e-7}], "code": "  if a:\\n    b", ' +
  '"items": 1, "keys": [2], "values": "v", "get": {"pop": 0}}';
const CALL = { id: "call00001", type: "function", function: { name: "f", arguments: ARGUMENTS } };
const OTHER = { id: "call00002", type: "function", function: { name: "get_items", arguments: "{}" } };
const QUESTION = { role: "user", content: "weather?" };
const ANSWER = { role: "assistant", content: "It is 21." };
const RESULTS = [["call00001", "f"], ["call00002", "get_items"]].map(([tool_call_id, name]) => ({
  role: "tool",
  tool_call_id,
  name,
  content: "21 °C",
}));

/** Chats with one call or two, with contents that are empty, null or text, and texts that must be shown. */
const CHATS = ["", null, "I look."].flatMap((content) => {
  const reply = (...tool_calls: object[]) => ({ role: "assistant", content, tool_calls });
  const [result, other] = RESULTS;
  const one = [QUESTION, reply(CALL)];
  return [
    { chat: one, shown: ["rich"] },
    { chat: [...one, result], shown: ["rich"] },
    { chat: [...one, result, ANSWER, QUESTION], shown: ["rich"] },
    { chat: [QUESTION, reply(CALL, OTHER), result, other, ANSWER], shown: ["rich", "get_items"] },
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
    const format = new ChatFormat({ tokenizer, family: "tokenizer" });
    const found = cases.map(({ chat, prompt }) => {
      try {
        return format.render(chat.map(toMessage), { addGenerationPrompt: prompt });
      } catch {
        return null; // the template, or Paddock, refuses the chat
      }
    });
    assertEquals(found, texts.slice(at * cases.length, (at + 1) * cases.length));
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

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
