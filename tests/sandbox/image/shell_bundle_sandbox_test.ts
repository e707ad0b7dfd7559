import { assert, assertEquals } from "@std/assert";
import { bundleShell } from "../../../src/sandbox/image/shell/shell_bundle.ts";
import { WORKER_FILES } from "../../../src/sandbox/image/guest_manifest.ts";
import * as shellSources from "../../../src/sandbox/image/shell/shell_sources.ts";

Deno.test("bundleShell() makes six modules of the shell, which import only each other, the worker's and the engine", async () => {
  const modules = await bundleShell();
  const known = new Set([...Object.keys(WORKER_FILES).map((name) => `${name}.ts`), "engine.ts"]);
  for (const { name, code } of modules) {
    for (const imported of importsOf(code)) assert(known.has(imported), `${name} imports ${imported}`);
    known.add(name);
  }
  const names = ["clock.ts", "command.ts", "files.ts", "gnu_commands.ts", "rare_commands.ts", "shell.ts"];
  assertEquals(modules.map(({ name }) => name), names);
});

Deno.test("bundleShell() has all of the shell's files, and keeps the names of its functions", async () => {
  const texts = (await bundleShell()).map(({ code }) => new TextDecoder().decode(code));
  const files = texts.flatMap((text) =>
    [...text.matchAll(/^\/\/ (?:\w+\/)*(\w+)\.ts$/gm)].map(([, name]) => name)
  );
  const folder = new URL("../../../src/sandbox/image/shell/", import.meta.url);
  const build = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name.replace(".ts", ""));
  const others = [...build, "replaced_commands", "engine", "zlib"];
  assertEquals(
    [...new Set(files)].toSorted(),
    Object.keys(shellSources).filter((name) => !others.includes(name)).toSorted(),
  );
  assert(texts.some((text) => text.includes("function createCommands(")));
});

/** Returns the names of the files that a module imports. */
function importsOf(code: Uint8Array): string[] {
  const statements = new TextDecoder().decode(code).matchAll(/(?:^import\b[^"]*|\bimport\()"([^"]*)"/gm);
  return [...statements].map(([, path = ""]) => path.slice(path.lastIndexOf("/") + 1));
}
