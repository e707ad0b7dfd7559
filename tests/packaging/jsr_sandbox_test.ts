import { assertEquals, assertStringIncludes } from "@std/assert";
import { listSources, ROOT } from "../../packaging/sources.ts";

/** Pages that the package has beside the sources. */
const PAGES = ["README.md", "CHANGELOG.md", "SECURITY.md"];

/**
 * Imports of code that the program itself puts together and names by a `blob:` URL, of a module of the package by its
 * URL, of the client of NATS and of the parser of Harbor's scripts, whose `npm:` specifiers have versions. They need
 * no rewriting by JSR, which is what its warning is about.
 */
const COMPUTED_IMPORTS = [
  "src/cli.ts",
  "src/cli/main.ts",
  "src/cluster/nats/client.ts",
  "src/envs/harbor/config/script_commands.ts",
  "src/rewards/worker/grader_worker.ts",
  "src/sandbox/guest/build.ts",
  "src/sandbox/guest/worker.ts",
];

Deno.test("deno publish has no error, no slow type, and warns only of imports that need no rewriting", async (t) => {
  const args = ["publish", "--dry-run", "--allow-dirty", "--no-check"];
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args,
    cwd: ROOT,
    env: { NO_COLOR: "1" },
  }).output();
  const report = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assertEquals(success, true, report);
  assertStringIncludes(report, "Success");
  const findings = report.matchAll(/^(?:warning|error)\[([\w-]+)\].*\n\s*--> (.*?):\d+:\d+$/gm);
  assertEquals(
    [...findings].map(([, kind, path = ""]) => `${kind} ${path.slice(ROOT.length)}`).sort(),
    COMPUTED_IMPORTS.map((path) => `unanalyzable-dynamic-import ${path}`),
  );
  await t.step("and it uploads the sources and nothing else", async () => {
    const files = [...report.matchAll(/^ +(file:\S+) \(/gm)].map(([, url = ""]) => new URL(url).pathname);
    const sources = (await listSources()).filter((path) => path !== "deno.lock");
    assertEquals(files.map((path) => path.slice(ROOT.length)).sort(), [...sources, ...PAGES].sort());
  });
});
