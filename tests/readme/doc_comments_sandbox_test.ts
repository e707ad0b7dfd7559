import { assert, assertEquals } from "@std/assert";
import { glob } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { TempFolder } from "../temp_folder.ts";
import { ROOT } from "./pages.ts";

/** Their examples are run by their own tests. */
const TESTED_ELSEWHERE = ["src/server/edge/portable.ts", "docs/edge.md", "docs/gallery.md"];
/** An import of a package that is none of this project's. Tasks of their own run such examples. */
const FOREIGN_IMPORT = /^(?:import|\} from) .*"(?!@paddock\/|@std\/|zod"|node:)[^"]+";$/m;

/** Returns the examples of doc comments that need a server or files, so that `deno test --doc` ignores them. */
async function ignoredExamples(): Promise<Record<string, string>> {
  const examples: Record<string, string> = {};
  for await (const path of glob("{{mod,src}/**/*.{ts,tsx},docs/*.md}", { cwd: fileURLToPath(ROOT) })) {
    if (TESTED_ELSEWHERE.includes(path)) continue;
    const text = await Deno.readTextFile(new URL(path, ROOT));
    for (const [, body = ""] of text.matchAll(/^(?: *\* )?```ts ignore\n(.*?)^(?: *\* )?```$/gms)) {
      if (FOREIGN_IMPORT.test(body)) continue;
      const name = `${path.replaceAll(/\W/g, "_")}_${Object.keys(examples).length}.ts`;
      examples[name] = `${body.replaceAll(/^ *\* ?/gm, "")}\nexport {};\n`;
    }
  }
  return examples;
}

Deno.test("examples of pages and of doc comments that are run have the right types", async () => {
  const pages = ["README.md", ...(await Array.fromAsync(glob("docs/*.md", { cwd: fileURLToPath(ROOT) })))];
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["check", "--doc-only", ...pages, "mod.ts", "mod", "src"],
    cwd: fileURLToPath(ROOT),
    env: { NO_COLOR: "1" },
  }).output();
  const errors = new TextDecoder().decode(stderr).split("\n").filter((line) => !line.startsWith("Check "));
  assertEquals([success, errors.join("\n").trim()], [true, ""]);
});

Deno.test("files of plug-ins in a folder of their own have the right types, by a configuration and by links", async () => {
  const texts: Record<string, string> = {};
  for await (const { name } of Deno.readDir(new URL("examples/plugins", ROOT))) {
    if (name.endsWith(".ts")) {
      texts[name] = await Deno.readTextFile(new URL(`examples/plugins/${name}`, ROOT));
    }
  }
  assert(Object.keys(texts).length >= 3);
  const config = fileURLToPath(new URL("deno.json", ROOT));
  const links = JSON.stringify({ links: [fileURLToPath(ROOT)] });
  for (
    const [files, options] of [[texts, ["--config", config]], [{ ...texts, "deno.json": links }, []]] as const
  ) {
    await using folder = await TempFolder.of(files);
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["check", ...options, ...Object.keys(texts)],
      cwd: folder.path,
      env: { NO_COLOR: "1" },
    }).output();
    assertEquals(success, true, new TextDecoder().decode(stderr));
  }
});

Deno.test("examples of doc comments that are not run have the right types", async () => {
  const examples = await ignoredExamples();
  assert(Object.keys(examples).length > 0);
  await using folder = await TempFolder.of(examples);
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["check", "--config", fileURLToPath(new URL("deno.json", ROOT)), folder.path],
    env: { NO_COLOR: "1" },
  }).output();
  const errors = new TextDecoder().decode(stderr).split("\n").filter((line) => !line.startsWith("Check "));
  assertEquals([success, errors.join("\n").trim()], [true, ""]);
});
