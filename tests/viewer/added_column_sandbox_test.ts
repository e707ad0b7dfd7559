import { assertEquals } from "@std/assert";
import { CopiedSource } from "../copied_source.ts";
import { runOf } from "./saved_rows.ts";

const COLUMNS = `
  retries: {
    store: "u32",
    read: ({ retries }) => numberOf(retries),
    csv: "retries",
    sort: { parameter: "retries", label: "retries" },
    list: { heading: "Retries", format: "number" },
  },
  host: {
    store: "short",
    read: ({ host }) => textOf(host),
    csv: "host",
    filter: { parameter: "host", label: "Host", when: "several" },
  },`;

const PROGRAM = `import { RunFolder } from "./src/viewer/run_folder.ts";
import { viewerApp } from "./src/viewer/viewer_app.tsx";

const app = viewerApp({ folder: await RunFolder.open("runs") });
const read = async (address) => await (await app.request("/runs/a.jsonl" + address)).text();
let page;
do page = await read("?host=one&sort=retries&order=desc"); while (!page.includes("</table>"));
console.log(JSON.stringify({ page, csv: await read("/export.csv?host=one&sort=retries&order=desc") }));
`;

Deno.test("a column that is declared in a copy is exported, listed, sorted and filtered by", async () => {
  await using copy = await CopiedSource.of();
  await copy.insert("src/viewer/index/episode_columns.ts", "export const EPISODE_COLUMNS = {", COLUMNS);
  await copy.write("runs/a.jsonl", runOf(3, (at) => ({ retries: at, host: at === 1 ? "two" : "one" })));
  await copy.write("read.ts", PROGRAM);
  const { page, csv } = JSON.parse(await copy.run("read.ts"));
  const lines = csv.trim().split("\r\n").map((line: string) => line.split(",").slice(0, 4).join(","));
  assertEquals(lines, ["episode,retries,host,task", "3,2,one,task-1", "1,0,one,task-0"]);
  for (const text of [">Retries</a>", '<select name="host">', '<option value="retries" selected']) {
    assertEquals(page.includes(text), true, text);
  }
});
