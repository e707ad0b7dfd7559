/**
 * Compares chats with native calls with transformers 5.24.0, for the templates of TRL and axolotl. `deno task
 * test:native-calls` runs this; it is not part of `deno task test`, since it needs the network once: pip installs
 * transformers and the templates.
 */
import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ChatFormat } from "../../src/chat/chat_format.ts";
import type { Message } from "../../src/message.ts";
import { parseMessage } from "../../src/parse_message.ts";
import { releasedTemplates } from "./released_templates.ts";

const FOLDER = fileURLToPath(new URL("../../.paddock/transformers", import.meta.url));
const ORACLE = fileURLToPath(new URL("native_calls_oracle.py", import.meta.url));
const PACKAGES = ["transformers==5.24.0", "jinja2==3.1.6"];

async function python(args: readonly string[], input = ""): Promise<string> {
  const child = new Deno.Command("python3", {
    args: [...args],
    env: { PYTHONPATH: FOLDER },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writing = new Blob([input]).stream().pipeTo(child.stdin);
  const { success, stdout, stderr } = await child.output();
  await writing;
  if (success) return new TextDecoder().decode(stdout);
  throw new Error(`Cannot run python3 ${args[0]}: ${new TextDecoder().decode(stderr)}`);
}

if (!await Deno.stat(join(FOLDER, "transformers")).then(() => true, () => false)) {
  await python(["-m", "pip", "install", "--quiet", "--target", FOLDER, ...PACKAGES]);
}

const ARGUMENTS =
  '{"city": "Zürich", "now": true, "unit": null, "amount": 50.0, "account": 12345678901234567890, ' +
  '"at": [1, {"x": 2.5e-7}], "code": "  if a:\\n    b"}';
const CALL = { id: "call00001", type: "function", function: { name: "f", arguments: ARGUMENTS } };
const OTHER = { id: "call00002", type: "function", function: { name: "items", arguments: "{}" } };
const QUESTION = { role: "user", content: "weather?" };
const ANSWER = { role: "assistant", content: "It is 21." };
const RESULTS = [["call00001", "f"], ["call00002", "items"]].map(([tool_call_id, name]) => ({
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
    { chat: [QUESTION, reply(CALL, OTHER), result, other, ANSWER], shown: ["rich", "items"] },
  ];
});

function toMessage(message: object | undefined, at: number): Message {
  const parsed = parseMessage(message, at);
  // chats of OpenAI's API have null beside calls, which renderChat() takes
  const isNull = message !== undefined && "content" in message && message.content === null;
  return isNull ? { ...parsed, content: null } as unknown as Message : parsed;
}

for (const { name, source, tokenizer } of await releasedTemplates()) {
  Deno.test(`native calls with ${name} are rendered as by transformers, or refused`, async () => {
    const format = new ChatFormat({ tokenizer, family: "tokenizer" });
    const rows = CHATS.flatMap(({ chat, shown }) =>
      [false, true].map((prompt) => ({ source, chat, prompt, shown }))
    );
    const expected: (string | null)[] = JSON.parse(await python([ORACLE], JSON.stringify(rows)));
    const found = rows.map(({ chat, prompt }) => {
      try {
        return format.render(chat.map(toMessage), { addGenerationPrompt: prompt });
      } catch {
        return null; // the template, or Paddock, refuses the chat
      }
    });
    assertEquals(found, expected);
  });
}
