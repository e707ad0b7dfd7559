import { assertEquals, assertStringIncludes } from "@std/assert";
import { TempFolder } from "../temp_folder.ts";
import { openViewer, readPage } from "./read_page.ts";
import { runOf } from "./saved_rows.ts";

Deno.test("two runs are compared by task, the largest change first", async () => {
  await using folder = await TempFolder.of({
    "a.jsonl": runOf(8, (at) => ({ id: `t${at}`, sample: 1, reward: at === 1 ? 1 : 0 })),
    "b.jsonl": runOf(8, (at) => ({ id: `t${at}`, sample: 1, reward: at > 4 ? 1 : 0 })),
  });
  const viewer = await openViewer(folder);
  const { text } = await readPage(viewer, "/runs/compare?run=a.jsonl&run=b.jsonl");
  assertStringIncludes(text, "3, 1, 4"); // better, worse, same
  assertStringIncludes(text, "p = 0.625");
  assertStringIncludes(text, "+0.25 (");
  const worse = await readPage(viewer, "/runs/compare?run=a.jsonl&run=b.jsonl&change=worse");
  assertEquals(worse.text.match(/>t\d</g), [">t1<"]);
  assertEquals((await readPage(viewer, "/runs/compare?run=a.jsonl")).status, 400);
});

Deno.test("a comparison has the means of both runs, with the parts of their rewards", async () => {
  const parts = (answer: number) => ({ rewardParts: { answer, format: 1 } });
  await using folder = await TempFolder.of({
    "a.jsonl": runOf(4, () => ({ turns: 1, ...parts(0.25) })),
    "b.jsonl": runOf(4, () => ({ turns: 4, ...parts(0.5) })),
  });
  const { text } = await readPage(await openViewer(folder), "/runs/compare?run=a.jsonl&run=b.jsonl");
  const cellsOf = (name: string) => {
    const row = text.slice(text.indexOf(`<th scope="row">${name}</th>`)).split("</tr>", 1)[0] ?? "";
    return Array.from(row.matchAll(/<td class="number">([^<]*)</g), ([, cell]) => cell);
  };
  assertEquals(cellsOf("Turns"), ["1", "4", "+3"]);
  assertEquals(cellsOf("Part answer"), ["0.25", "0.5", "+0.25"]);
  assertEquals(cellsOf("Tokens"), ["–", "–", "–"]); // no episode has recorded them
});

Deno.test("a compared task shows the episodes of both runs side by side, sample by sample", async () => {
  const run = (name: string, count: number) =>
    runOf(count, (at) => ({ id: "t", sample: count - at, messages: [reply(`${name} ${count - at}`)] }));
  const reply = (content: string) => ({ role: "assistant", content });
  await using folder = await TempFolder.of({ "a.jsonl": run("first", 3), "b.jsonl": run("second", 2) });
  const viewer = await openViewer(folder);
  const page = "/runs/compare?run=a.jsonl&run=b.jsonl&task=t";
  const { text } = await readPage(viewer, page);
  for (const shown of ["first 1", "second 1", "sample=3"]) assertStringIncludes(text, shown);
  assertEquals(text.match(/id="turn-\d+"/g), null); // an id names one element
  const third = (await readPage(viewer, `${page}&sample=3`)).text;
  assertStringIncludes(third, "first 3");
  assertStringIncludes(third, "The run has no such sample.");
});
