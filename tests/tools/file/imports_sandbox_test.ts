import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { dirname, join } from "node:path";
import { McpError, SandboxError } from "../../../src/errors.ts";
import { ChatEnv } from "../../../src/envs/chat_env.ts";
import { detectLayers } from "../../../src/sandbox/process/layers.ts";
import { toolFile } from "../../../src/tools/file/tool_file.ts";
import { MCPToolTransform } from "../../../src/transforms/mcp_tool_transform.ts";
import { TransformedEnv } from "../../../src/transforms/transformed_env.ts";
import { answersTo } from "../play_tools.ts";

const detected = await detectLayers();
const BESIDE = "export { default } from './beside.json' with { type: 'json' };";

/** Sources of tool files that try to read a file that was not granted, by the method they use. */
const ATTACKS: Readonly<Record<string, (outside: string) => string>> = {
  "a text": (outside) =>
    `import it from "${outside}/secret.txt" with { type: "text" };\n${runReturning("it")}`,
  "JSON": (outside) =>
    `import it from "${outside}/secret.json" with { type: "json" };\n${runReturning("it")}`,
  "code": (outside) => `import { it } from "${outside}/secret.ts";\n${runReturning("it")}`,
  "a dynamic import": (outside) =>
    runReturning(`(await import("${outside}/secret.json", { with: { type: "json" } })).default`),
  "an import of its own module": () => `import { it } from "./carrier.ts";\n${runReturning("it")}`,
  "an import of a data URL": (outside) =>
    `import it from "${
      dataUrl(`export { default } from "file://${outside}/secret.json" with { type: "json" };`)
    }";\n${runReturning("it")}`,
  "a worker's import": (outside) => {
    const source = `import it from "file://${outside}/secret.json" with { type: "json" }; postMessage(it);`;
    return runReturning(`await new Promise((resolve, reject) => {
      const worker = new Worker(${JSON.stringify(dataUrl(source))}, { type: "module" });
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = (event) => { event.preventDefault(); reject(new Error(event.message)); };
    })`);
  },
};

function runReturning(what: string): string {
  return `export const run = async () => ${what};\n`;
}

function dataUrl(source: string): string {
  return `data:application/javascript,${encodeURIComponent(source)}`;
}

async function withFolder(test: (tool: string, outside: string) => Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "paddock-imports-" });
  const files = {
    "secret.txt": "stolen",
    "secret.json": '"stolen"',
    "secret.ts": "export const it: string = 'stolen';",
    "tool/carrier.ts": `export { default as it } from "${root}/secret.txt" with { type: "text" };`,
    "tool/beside.json": '"mine"',
    "tool/beside.ts": BESIDE,
  };
  try {
    for (const [name, text] of Object.entries(files)) {
      await Deno.mkdir(dirname(join(root, name)), { recursive: true });
      await Deno.writeTextFile(join(root, name), text);
    }
    await test(join(root, "tool", "tool.ts"), root);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

for (const [what, source] of Object.entries(ATTACKS)) {
  Deno.test(`toolFile() denies a file ${what} outside its permissions`, () =>
    withFolder(async (path, outside) => {
      await Deno.writeTextFile(path, source(outside));
      const stolen = async () => {
        await using tool = await toolFile(path, { detected });
        const [text = ""] = await answersTo("<tool>tool\n{}</tool>", [tool], { timeoutMs: 30_000 });
        return String(text);
      };
      const text = await stolen().catch((error) => {
        if (error instanceof SandboxError) return error.message;
        throw error;
      });
      assertStringIncludes(text, "Requires read access to");
      assertEquals(text.includes("stolen"), false);
      await using granted = await toolFile(path, { detected, permissions: { read: [outside] } });
      assertStringIncludes(
        String(await answersTo("<tool>tool\n{}</tool>", [granted], { timeoutMs: 30_000 })),
        "stolen",
      );
    }));
}

Deno.test("toolFile() allows imports from the file's folder but no reads of it after the start", () =>
  withFolder(async (path) => {
    const read = `await Deno.readTextFile("${join(dirname(path), "beside.json")}")`;
    await Deno.writeTextFile(
      path,
      `import it from "./beside.ts";\n${runReturning(`it === "mine" && ${read}`)}`,
    );
    await using tool = await toolFile(path, { detected });
    const [text = ""] = await answersTo("<tool>tool\n{}</tool>", [tool], { timeoutMs: 30_000 });
    assertStringIncludes(String(text), "Requires read access to");
  }));

/** Sources of tool files that try to read a file of their folder without an import of it. */
const OWN_READS: Readonly<Record<string, (folder: string) => string>> = {
  "by name": (folder) =>
    `const it = await Deno.readTextFile("${folder}/beside.json");\n${runReturning("it")}`,
  "in the list of the folder": (folder) =>
    `const it = [...Deno.readDirSync("${folder}")].map(({ name }) => name).join();\n${runReturning("it")}`,
  "by a computed import": () =>
    `const name = ["beside", "ts"].join(".");\nconst it = (await import("./" + name)).default;\n${
      runReturning("it")
    }`,
  "by a dynamic import": () =>
    `const it = (await import("./beside.json", { with: { type: "json" } })).default;\n${runReturning("it")}`,
};

for (const [what, source] of Object.entries(OWN_READS)) {
  Deno.test(`toolFile() denies a file of its own folder ${what} while it is loaded`, () =>
    withFolder(async (path) => {
      await Deno.writeTextFile(path, source(dirname(path)));
      await assertRejects(() => toolFile(path, { detected }), SandboxError, "Requires read access to");
      await using granted = await toolFile(path, { detected, permissions: { read: [dirname(path)] } });
      assertEquals(granted.name, "tool");
    }));
}

Deno.test("toolFile() allows static imports of code, JSON, text and further folders from its folder", () =>
  withFolder(async (path) => {
    const folder = dirname(path);
    await Deno.mkdir(join(folder, "deep"));
    await Deno.writeTextFile(join(folder, "deep/words.txt"), "words");
    await Deno.writeTextFile(
      join(folder, "deep/more.ts"),
      "export { default as words } from './words.txt' with { type: 'text' };",
    );
    const imports = [
      `import json from "./beside.json" with { type: "json" };`,
      `import code from "./beside.ts";`,
      `import { words } from "./deep/more.ts";`,
    ].join("\n");
    const value = `[json, code, words, (await import("./deep/more.ts")).words].join()`; // loaded already
    await Deno.writeTextFile(path, `${imports}\nconst all = ${value};\n${runReturning("all")}`);
    await using tool = await toolFile(path, { detected });
    const [text = ""] = await answersTo("<tool>tool\n{}</tool>", [tool], { timeoutMs: 30_000 });
    assertStringIncludes(String(text), "mine,mine,words,words");
  }));

Deno.test("MCPToolTransform does not start a module that imports from a folder that it may not read", () =>
  withFolder(async (path, outside) => {
    for (const what of ["a text", "JSON", "code", "a dynamic import", "an import of a data URL"]) {
      await Deno.writeTextFile(path, ATTACKS[what]?.(outside) ?? "");
      const transform = new MCPToolTransform({ servers: { thief: { module: path } }, detected });
      await using env = new TransformedEnv(new ChatEnv(), [transform]);
      await assertRejects(() => env.reset({ id: "1", query: "q" }), McpError, "must lie in its folder");
    }
  }));
