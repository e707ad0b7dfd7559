import { assertEquals } from "@std/assert";
import {
  readRunRecord,
  settingDifferences,
  settingText,
  writeRunRecord,
} from "../../src/rollout/run_record.ts";
import { TempFolder } from "../temp_folder.ts";

Deno.test("settingDifferences() compares all settings, and takes the default of one that is not recorded", () => {
  const first = { temperature: 0.5, grader: ["a", "b=1"], system: "x" };
  const second = { temperature: 0.5, grader: ["a", "b=2"], topP: 0.9, cutScore: "grade", newer: "y" };
  assertEquals(settingDifferences(first, second, { cutScore: "grade", newer: "z" }), [
    { name: "grader", first: ["a", "b=1"], second: ["a", "b=2"] },
    { name: "newer", first: "z", second: "y" },
    { name: "system", first: "x", second: null },
    { name: "topP", first: null, second: 0.9 },
  ]);
  assertEquals(settingDifferences(first, first), []);
  assertEquals([["a", "b"], null, 0.5, true].map(settingText), ["a, b", "none", "0.5", "true"]);
});

Deno.test("readRunRecord() returns what was written, and nothing without a record", async () => {
  await using folder = await TempFolder.of();
  const path = `${folder.path}/a.jsonl`;
  assertEquals(await readRunRecord(path), undefined);
  const run = {
    startedAt: "2026-01-01T00:00:00Z",
    paddock: "1",
    command: "paddock rollout",
    settings: {},
    data: [],
  };
  await writeRunRecord(path, { format: 1, runs: [run] });
  assertEquals(await readRunRecord(path), { format: 1, runs: [run] });
});
