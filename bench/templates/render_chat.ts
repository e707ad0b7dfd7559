/**
 * Renders a chat of ten turns with ten tools, five native calls and their results, in a process of its own. Prints the
 * CPU time in milliseconds of the first rendering, with that of loading the template, and of a later one, as JSON.
 */
import process from "node:process";
import { ChatFormat } from "../../src/chat/chat_format.ts";
import type { Message, ToolSpec } from "../../src/message.ts";
import { writeText } from "../../src/cli/output.ts";

const WARMUP = 20;
const RUNS = 60;

const TOOLS: readonly ToolSpec[] = Array.from({ length: 10 }, (_, at) => ({
  name: `tool_${at}`,
  description: `Searches the documents of part ${at} for a text.`,
  parameters: {
    type: "object",
    properties: {
      path: { type: "string", description: "Path of a document" },
      count: { type: "integer", default: 3 },
      mode: { type: "string", enum: ["exact", "fuzzy"] },
    },
    required: ["path"],
  },
}));

function turn(at: number): Message[] {
  const question = { role: "user", content: `Question ${at}: ${"what is in the file? ".repeat(6)}` };
  const answer = {
    role: "assistant",
    content: `<think>\nI look.\n</think>\n\n${"The file has these lines:\n    indented code\n".repeat(5)}`,
  };
  if (at % 2 === 0) return [question, answer];
  const id = `call0000${at}`;
  const text = '{"path": "/a/b", "count": 5.0, "mode": "exact"}';
  const call = { id, name: "tool_1", arguments: JSON.parse(text), arguments_text: text };
  const result = { role: "tool", name: "tool_1", tool_call_id: id, content: "a line\n".repeat(20) };
  return [question, { role: "assistant", content: "", tool_calls: [call] }, result, answer];
}

const chat: Message[] = [
  { role: "system", content: "You are a helpful assistant." },
  ...Array.from({ length: 10 }, (_, at) => turn(at)).flat(),
];

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

const start = cpuMs();
const format = new ChatFormat({ family: "qwen" });
const render = () => format.render(chat, { tools: TOOLS, addGenerationPrompt: true });
render();
const first = cpuMs() - start;
for (let run = 0; run < WARMUP; run++) render();
const warm = cpuMs();
for (let run = 0; run < RUNS; run++) render();
await writeText(Deno.stdout, JSON.stringify({ first, later: (cpuMs() - warm) / RUNS }));
