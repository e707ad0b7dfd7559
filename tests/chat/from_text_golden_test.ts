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

/** What upstream gets wrong, and what is read instead. */
const faults: Readonly<Record<string, { fault: string; messages: Message[] }>> = {
  "falcon: S\n\nUser: U\n\nAssistant: A\n": {
    fault: "▲ falcon cannot be read at all",
    messages: [
      { role: "system", content: "S" },
      { role: "user", content: "U" },
      { role: "assistant", content: "A" },
    ],
  },
};

Deno.test({
  name: `fromText() reads the ${cases.length} golden texts exactly, but for the faults listed`,
  fn: () => {
    for (const golden of cases) {
      const { template, text, message = "" } = golden;
      const read = () => fromText(text, { family: template }).toChats();
      const expected = faults[`${template}: ${text}`]?.messages ?? golden.messages?.map(withoutNulls);
      if (expected === undefined) assertThrows(read, SyntaxError, message);
      else assertEquals<unknown>(read(), expected, `${template}: ${text}`);
    }
  },
});

/** The golden's messages tell each key; ours leave out what says nothing. */
function withoutNulls(message: Record<string, unknown>): Record<string, unknown> {
  const told = Object.entries(message).filter(([key, value]) =>
    value !== null && !(key === "is_complete" && value === true)
  );
  return Object.fromEntries(told);
}
