import { fileURLToPath } from "node:url";
import * as z from "zod";
import { summarize } from "./measure.ts";
import type { Row } from "./row.ts";

const PROGRAM = fileURLToPath(new URL("templates/render_chat.ts", import.meta.url));
const CONFIG = fileURLToPath(new URL("../deno.json", import.meta.url));
const RUNS = 10;

const timesSchema = z.object({ first: z.number(), later: z.number() });

/** Measures the CPU time of rendering a chat of ten turns and ten tools, in new processes. */
export async function templateRows({ effort }: { effort: number }): Promise<Row[]> {
  const times: z.infer<typeof timesSchema>[] = [];
  for (let run = 0; run < RUNS * effort; run++) times.push(await renderChat());
  const what = "chat of ten turns and ten tools";
  return [
    {
      what: `${what}: CPU of the first rendering`,
      ...summarize(times.map(({ first }) => first)),
      unit: "ms",
    },
    { what: `${what}: CPU of a later one`, ...summarize(times.map(({ later }) => later)), unit: "ms" },
  ];
}

async function renderChat(): Promise<z.infer<typeof timesSchema>> {
  const args = ["run", "--allow-all", "--quiet", "--config", CONFIG, PROGRAM];
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
  if (code !== 0) throw new Error(`Cannot render chat: ${new TextDecoder().decode(stderr)}`);
  return timesSchema.parse(JSON.parse(new TextDecoder().decode(stdout)));
}
