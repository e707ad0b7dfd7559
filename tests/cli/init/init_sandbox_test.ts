import { assertEquals, assertStringIncludes } from "@std/assert";
import { TempFolder } from "../../temp_folder.ts";
import { runPaddock } from "../run_paddock.ts";

async function deno(cwd: string, ...args: string[]): Promise<{ code: number; output: string }> {
  const child = new Deno.Command(Deno.execPath(), { args, cwd, env: { NO_COLOR: "1" } });
  const { code, stdout, stderr } = await child.output();
  return { code, output: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

Deno.test("paddock init writes a project whose types, test and rollout are right", async () => {
  await using folder = await TempFolder.of();
  const project = `${folder.path}/new/env`;
  const { code, stdout, stderr } = await runPaddock(["init", project]);
  assertEquals([code, stderr], [0, ""]);
  assertStringIncludes(stdout, `Next: cd ${project} && deno task test`);
  const format = await deno(project, "fmt", "--check");
  assertEquals(format.code, 0, format.output);
  const test = await deno(project, "task", "test");
  assertEquals(test.code, 0, test.output);
  assertStringIncludes(test.output, "1 passed");
  const played = await deno(project, "task", "rollout");
  assertEquals(played.code, 0, played.output);
  assertStringIncludes(played.output, "mean reward   1.000");
  assertEquals(/Download |Warning/.test(played.output), false, played.output);
  await replace(`${project}/env.ts`, "? 1 : 0", "? 0.5 : 0");
  const changed = await deno(project, "task", "rollout");
  assertStringIncludes(changed.output, "mean reward   0.500");
});

Deno.test("paddock init --python writes a project whose rollout and test use its env", async () => {
  await using folder = await TempFolder.of();
  const project = `${folder.path}/env`;
  const { code, stdout, stderr } = await runPaddock(["init", "--python", project]);
  assertEquals([code, stderr], [0, ""]);
  assertStringIncludes(stdout, "env.py, test_env.py, paddock.jsonc");
  assertEquals((await deno(project, "fmt", "--check")).code, 0);
  const played = await deno(project, "task", "rollout");
  assertEquals(played.code, 0, played.output);
  assertStringIncludes(played.output, "mean reward   1.000");
  const test = await deno(project, "task", "test");
  assertEquals(test.code, 0, test.output);
  await replace(`${project}/env.py`, "return float(", "return 0.5 * float(");
  const changed = await deno(project, "task", "rollout");
  assertStringIncludes(changed.output, "mean reward   0.500");
  assertEquals((await deno(project, "task", "test")).code === 0, false);
});

async function replace(path: string, from: string, to: string): Promise<void> {
  const text = await Deno.readTextFile(path);
  assertStringIncludes(text, from);
  await Deno.writeTextFile(path, text.replace(from, to));
}

Deno.test("paddock init never overwrites a file, and writes nothing if one exists", async () => {
  await using folder = await TempFolder.of({ "env.ts": "mine" });
  const { code, stderr } = await runPaddock(["init", folder.path]);
  assertEquals(code, 2);
  assertStringIncludes(stderr, "as 'env.ts' exists: give another folder");
  const names = (await Array.fromAsync(Deno.readDir(folder.path))).map(({ name }) => name);
  assertEquals([names, await Deno.readTextFile(`${folder.path}/env.ts`)], [["env.ts"], "mine"]);
  const file = await runPaddock(["init", `${folder.path}/env.ts`]);
  assertEquals(file.code, 2);
});
