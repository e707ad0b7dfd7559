import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { renderChat, type RenderChatOptions } from "../../src/chat/render_chat.ts";
import { type Message, messageText } from "../../src/message.ts";
import { History } from "../../src/history.ts";
import type { ToolSpec } from "../../src/tool_spec.ts";

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

/** Upstream: what a tool says vanishes from the prompt. Ours shows it, unless told to `drop_tool_roles`. */
const UPSTREAM_DROPS_TOOLS = ["dialogpt", "falcon", "deepseek"];
const TALKERS = ["system", "user", "assistant", "<none>"];

function render(golden: GoldenCase, kwargs: Record<string, unknown> = {}): string {
  const options: RenderChatOptions = {
    family: golden.template,
    addGenerationPrompt: golden.add_generation_prompt,
    templateKwargs: { bos_token: golden.bos, eos_token: golden.eos, ...kwargs },
    tools: golden.tools?.map((tool) => tool.function),
  };
  return renderChat(History.fromChats(golden.chat), options);
}

function isFault({ template, chat }: GoldenCase): boolean {
  return UPSTREAM_DROPS_TOOLS.includes(template) && chat.some(({ role }) => !TALKERS.includes(role));
}

Deno.test({
  name: `renderChat() writes the ${cases.length} golden chats exactly, six families over`,
  fn: () => {
    for (const golden of cases) {
      const kwargs = isFault(golden) ? { drop_tool_roles: true } : {};
      assertEquals(render(golden, kwargs), golden.out, `${golden.template} ${golden.case}`);
    }
  },
});

Deno.test({
  name: "▲ custom tool roles are not silently dropped in any golden chat",
  fn: () => {
    for (const golden of cases) {
      const text = render(golden);
      const said = golden.chat.filter(({ role }) => !TALKERS.includes(role)).map(messageText);
      for (const words of said) assert(text.includes(words), `${golden.template} ${golden.case}: ${text}`);
      if (isFault(golden)) assertNotEquals(text, golden.out, `${golden.template} ${golden.case}`);
    }
  },
});
