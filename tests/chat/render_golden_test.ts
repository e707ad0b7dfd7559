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

function isDeviation({ template, chat }: GoldenCase): boolean {
  return UPSTREAM_DROPS_TOOLS.includes(template) && chat.some(({ role }) => !BASIC_ROLES.includes(role));
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
  name: "renderChat() drops no custom tool role in any golden chat (differs from TorchRL)",
  fn: () => {
    for (const golden of cases) {
      const text = render(golden);
      const toolTexts = golden.chat.filter(({ role }) => !BASIC_ROLES.includes(role)).map(messageText);
      for (const toolText of toolTexts) {
        assert(text.includes(toolText), `${golden.template} ${golden.case}: ${text}`);
      }
      if (isDeviation(golden)) assertNotEquals(text, golden.out, `${golden.template} ${golden.case}`);
    }
  },
});
