import { assertEquals, assertThrows } from "@std/assert";
import { fromText } from "../../src/chat/from_text.ts";
import type { Message } from "../../src/message.ts";

interface GoldenCase {
  template: string;
  text: string;
  messages?: Record<string, unknown>[];
  message?: string;
}

const FILE = new URL("../goldens/from_text.json", import.meta.url);
const cases: GoldenCase[] = JSON.parse(await Deno.readTextFile(FILE));

/** Texts that TorchRL parses wrongly, with the correct messages. */
const deviations: Readonly<Record<string, { reason: string; messages: Message[] }>> = {
  "falcon: S\n\nUser: U\n\nAssistant: A\n": {
    reason: "TorchRL cannot parse falcon",
    messages: [
      { role: "system", content: "S" },
      { role: "user", content: "U" },
      { role: "assistant", content: "A" },
    ],
  },
};

Deno.test({
  name: `fromText() parses all ${cases.length} golden texts exactly, except the listed deviations`,
  fn: () => {
    for (const golden of cases) {
      const { template, text, message = "" } = golden;
      const read = () => fromText(text, { family: template }).toChats();
      const expected = deviations[`${template}: ${text}`]?.messages ?? golden.messages?.map(withoutNulls);
      if (expected === undefined) assertThrows(read, SyntaxError, message);
      else assertEquals<unknown>(read(), expected, `${template}: ${text}`);
    }
  },
});

/** Removes null fields and `is_complete: true`, which the goldens contain and Paddock omits. */
function withoutNulls(message: Record<string, unknown>): Record<string, unknown> {
  const fields = Object.entries(message).filter(([key, value]) =>
    value !== null && !(key === "is_complete" && value === true)
  );
  return Object.fromEntries(fields);
}
