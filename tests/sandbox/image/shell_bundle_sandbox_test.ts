import { assert, assertEquals } from "@std/assert";
import { bundleShell } from "../../../src/sandbox/image/shell/shell_bundle.ts";
import { SHELL_FILES, WORKER_FILES } from "../../../src/sandbox/image/guest_manifest.ts";

Deno.test("bundleShell() makes two modules of the shell, which import only the worker's and the engine", async () => {
  const modules = await bundleShell();
  const known = new Set([...Object.keys(WORKER_FILES).map((name) => `${name}.ts`), "engine.ts"]);
  for (const { name, code } of modules) {
    for (const imported of importsOf(code)) assert(known.has(imported), `${name} imports ${imported}`);
    known.add(name);
  }
  assertEquals(modules.map(({ name }) => name), ["clock.ts", "shell.ts"]);
});

Deno.test("bundleShell() has all of the shell's files, and keeps the names of its functions", async () => {
  const texts = (await bundleShell()).map(({ code }) => new TextDecoder().decode(code));
  const files = texts.flatMap((text) =>
    [...text.matchAll(/^\/\/ (?:\w+\/)*(\w+)\.ts$/gm)].map(([, name]) => name)
  );
  assertEquals([...new Set(files)].toSorted(), Object.keys(SHELL_FILES).toSorted());
  assert(texts.some((text) => text.includes("function createCommands(")));
});

/** Returns the names of the files that a module imports. */
function importsOf(code: Uint8Array): string[] {
  const statements = new TextDecoder().decode(code).matchAll(/^import\b[^"]*"([^"]*)";$/gm);
  return [...statements].map(([, path = ""]) => path.slice(path.lastIndexOf("/") + 1));
}
