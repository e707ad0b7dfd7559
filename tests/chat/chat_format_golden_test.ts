import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { ChatFormat, renderChat, type RenderChatOptions } from "../../src/chat/chat_format.ts";
import { History } from "../../src/history.ts";
import { type Message, messageText, type ToolSpec } from "../../src/message.ts";

interface GoldenCase {
  template: string;
  case: string;
  chat: Message[];
  add_generation_prompt: boolean;
  tools: { function: ToolSpec }[] | null;
  bos: string;
  eos: string;
  out: string;
}

const FILE = new URL("../goldens/render.json", import.meta.url);
const cases: GoldenCase[] = JSON.parse(await Deno.readTextFile(FILE));

/**
 * In these families, TorchRL omits tool messages from the prompt. Paddock renders them unless
 * `drop_tool_roles` is set.
 */
const UPSTREAM_DROPS_TOOLS = ["dialogpt", "falcon", "deepseek"];
const BASIC_ROLES = ["system", "user", "assistant", "<none>"];

function render(golden: GoldenCase, kwargs: Record<string, unknown> = {}): string {
  const options: RenderChatOptions = {
    family: golden.template,
    addGenerationPrompt: golden.add_generation_prompt,
    templateKwargs: { bos_token: golden.bos, eos_token: golden.eos, ...kwargs },
    tools: golden.tools?.map((tool) => tool.function),
  };
  return renderChat(History.fromChats(golden.chat), options);
}

function isDeviation(golden: GoldenCase): boolean {
  const { template, chat } = golden;
  return dropsCalls(golden) ||
    (UPSTREAM_DROPS_TOOLS.includes(template) && chat.some(({ role }) => !BASIC_ROLES.includes(role)));
}

/** True if TorchRL omits native calls that are not in a message's text. */
function dropsCalls({ template, chat }: GoldenCase): boolean {
  return template !== "qwen" &&
    chat.some((message) => message.tool_calls?.length && !messageText(message).includes("<tool_call>"));
}

Deno.test({
  name: `renderChat() writes all ${cases.length} golden chats of six families exactly`,
  fn: () => {
    for (const golden of cases) {
      const kwargs = isDeviation(golden) ? { drop_tool_roles: true } : {};
      assertEquals(render(golden, kwargs), golden.out, `${golden.template} ${golden.case}`);
    }
  },
});

Deno.test({
  name: "renderChat() drops no custom tool role and no native call in any golden chat (differs from TorchRL)",
  fn: () => {
    for (const golden of cases) {
      if (dropsCalls(golden)) {
        assertThrows(() => render(golden), TypeError, "it drops");
        continue;
      }
      const text = render(golden);
      const toolTexts = golden.chat.filter(({ role }) => !BASIC_ROLES.includes(role)).map(messageText);
      for (const toolText of toolTexts) {
        assert(text.includes(toolText), `${golden.template} ${golden.case}: ${text}`);
      }
      if (isDeviation(golden)) assertNotEquals(text, golden.out, `${golden.template} ${golden.case}`);
    }
  },
});

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
