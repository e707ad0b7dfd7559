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

Deno.test("a comparison and the page of a run show what the runs were", async () => {
  const recordOf = (settings: object, sha256: string) =>
    JSON.stringify({
      format: 1,
      runs: [{
        startedAt: "2026-01-01T00:00:00.000Z",
        paddock: "1",
        command: "paddock rollout --system '<b>'",
        settings,
        data: [{ path: "tasks.jsonl", bytes: 7, sha256 }],
      }],
    });
  await using folder = await TempFolder.of({
    "a.jsonl": runOf(2),
    "b.jsonl": runOf(2),
    "c.jsonl": runOf(2),
    "a.jsonl.run.json": recordOf({ model: "m", temperature: 0.5, system: "<b>" }, "a".repeat(64)),
    "b.jsonl.run.json": recordOf({ model: "m", temperature: 1, stop: ["x", "y"] }, "b".repeat(64)),
    "c.jsonl.run.json": "damaged",
  });
  const viewer = await openViewer(folder);
  const page = (await readPage(viewer, "/runs/a.jsonl")).text;
  for (
    const shown of ["What this run was", "temperature", "0.5", "&lt;b&gt;", "a".repeat(64), "paddock rollout"]
  ) {
    assertStringIncludes(page, shown);
  }
  const settingsOf = (text: string) =>
    text.slice(text.indexOf('id="settings"')).split('id="tasks"', 1)[0] ?? "";
  const differing = settingsOf((await readPage(viewer, "/runs/compare?run=a.jsonl&run=b.jsonl")).text);
  const names = Array.from(differing.matchAll(/<th scope="row">([^<]*)</g), ([, name]) => name);
  assertEquals(names, ["stop", "system", "temperature", "data"]);
  const same = settingsOf((await readPage(viewer, "/runs/compare?run=a.jsonl&run=a.jsonl")).text);
  assertStringIncludes(same, "Both runs have the same settings and data.");
  const unknown = settingsOf((await readPage(viewer, "/runs/compare?run=a.jsonl&run=c.jsonl")).text);
  assertStringIncludes(unknown, "The settings of one run are not known.");
});
