import { assertEquals } from "@std/assert";
import { ChatFormat } from "../../src/chat/chat_format.ts";
import type { Message } from "../../src/message.ts";
import type { ToolSpec } from "../../src/tool_spec.ts";

interface GoldenRollout {
  name: string;
  domain: "retail" | "airline";
  messages: Message[];
  prompt_sha256: string;
  last_payload_text_sha256: string;
}

interface Domain {
  wiki: string;
  tools_info: { function: ToolSpec }[];
}

const GOLDENS = new URL("../goldens/", import.meta.url);
const SENTENCE = "You may call one or more functions to assist with the user query.";
/** The text that slime writes instead of it. */
const INSTRUCTION =
  " At each turn, you are allowed to call one or no function to assist with task execution using <tools></tools> " +
  "XML tags.\nYOU MUST EXECUTE TOOLS TO MAKE ANY MODIFICATIONS OR CANCELLATIONS. Each tool call leads to a message " +
  "returned by the system.\nNEVER confirm execution to the user without seeing confirmation from the tool system.\n";

const [chatTemplate, rollouts, domains] = await Promise.all([
  Deno.readTextFile(new URL("qwen_like_template.jinja", GOLDENS)),
  readJson<GoldenRollout[]>("slime_asolve.json"),
  readJson<Record<string, Domain>>("tau_bench_tools_info.json"),
]);

async function readJson<T>(name: string): Promise<T> {
  return JSON.parse(await Deno.readTextFile(new URL(name, GOLDENS)));
}

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(digest).toHex();
}

Deno.test({
  name:
    `ChatFormat.render() writes the first and last prompts of ${rollouts.length} tau-bench rollouts as transformers does`,
  fn: async () => {
    const format = new ChatFormat({ chatTemplate });
    for (const { name, domain, messages, ...golden } of rollouts) {
      const { wiki = "", tools_info = [] } = domains[domain] ?? {};
      const tools = tools_info.map((tool) => tool.function);
      const chat = [{ role: "system", content: wiki }, ...messages.slice(1)];
      const prompt = (length: number) =>
        sha256(
          format.render(chat.slice(0, length), { addGenerationPrompt: true, tools }).replace(
            SENTENCE,
            INSTRUCTION,
          ),
        );
      assertEquals(await prompt(2), golden.prompt_sha256, name);
      const last = chat.findLastIndex(({ role }) => role === "assistant");
      assertEquals(await prompt(last), golden.last_payload_text_sha256, name);
    }
  },
});
