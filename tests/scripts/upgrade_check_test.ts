import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import manifest from "../../deno.json" with { type: "json" };
import {
  type CheckedPin,
  checkPins,
  formatBehind,
  type Pin,
  readPins,
  RegistryError,
} from "../../scripts/upgrade_check/behind.ts";
import { formatReport, outcomeOf } from "../../scripts/upgrade_check/report.ts";
import { SUBJECT_FOLDERS, SUBJECTS } from "../../scripts/upgrade_check/subjects.ts";
import {
  findVersions,
  listFiles,
  listTexts,
  readVersions,
  replaceVersions,
  writeVersions,
} from "../../scripts/upgrade_check/versions.ts";
import { PYODIDE_VERSION } from "../../src/sandbox/image/pyodide.ts";
import { DENO_NEEDED, DENO_VERSION } from "../../src/version.ts";
import { isAtLeast } from "../../src/cli/doctor.ts";
import { TempFolder } from "../temp_folder.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** This file has versions that no clone has. */
const OWN = "tests/scripts/upgrade_check_test.ts";

Deno.test("every text of the clone names the versions of Deno and Pyodide that deno.json names", async () => {
  const versions = await readVersions(ROOT);
  assertEquals(versions, { deno: manifest.engines.deno, pyodide: PYODIDE_VERSION });
  assertEquals(versions.deno, DENO_VERSION);
  assert(isAtLeast(versions.deno, DENO_NEEDED));
  const others: string[] = [];
  const named = new Set<string>();
  for (const path of (await listTexts(ROOT)).filter((path) => path !== OWN)) {
    for (const { of, version } of findVersions(await Deno.readTextFile(join(ROOT, path)))) {
      named.add(path);
      if (version !== versions[of]) others.push(`${path}: ${of} ${version}`);
    }
  }
  assertEquals(others, []);
  for (const path of [".ci/run", "README.md", "deno.json", "docs/python.md", "packaging/docker/Dockerfile"]) {
    assert(named.has(path), path);
  }
});

Deno.test("findVersions() finds the forms in which texts name Deno and Pyodide", () => {
  const forms = {
    "npx -y deno@1.2.3 task": ["deno 1.2.3"],
    '"dependencies": { "deno": "1.2.3" }': ["deno 1.2.3"],
    "Requires-Dist: deno==1.2.3": ["deno 1.2.3"],
    "FROM denoland/deno:bin-1.2.3": ["deno 1.2.3"],
    "image: denoland/deno:1.2.3-rc.1": ["deno 1.2.3-rc.1"],
    "npm:/pyodide@315.0.0-alpha.2/": ["pyodide 315.0.0-alpha.2"],
    "(Pyodide 314.0.1)": ["pyodide 314.0.1"],
    "deno-std@1.4.0 and Deno 2.0.0, wasm-deno 1.2.3": [],
  };
  for (const [text, expected] of Object.entries(forms)) {
    assertEquals(findVersions(text).map(({ of, version }) => `${of} ${version}`), expected, text);
  }
});

Deno.test("writeVersions() replaces the versions in every text, and nothing else", async () => {
  await using folder = await TempFolder.of({
    "deno.json": '{ "engines": { "deno": "1.0.0" }, "imports": { "pyodide/": "npm:/pyodide@2.0.0/" } }',
    "deno.lock": '"pyodide@2.0.0"',
    "docs/a.md": "npx -y deno@1.0.0 and deno-std@1.4.0",
    "b.md": "no version",
    "node_modules/c.md": "deno@1.0.0",
  });
  const next = { deno: "1.1.0", pyodide: "3.0.0-alpha.1" };
  assertEquals(await writeVersions(folder.path, next), ["deno.json", "docs/a.md"]);
  assertEquals(await readVersions(folder.path), next);
  assertEquals(
    await Deno.readTextFile(join(folder.path, "docs/a.md")),
    "npx -y deno@1.1.0 and deno-std@1.4.0",
  );
  assertEquals(replaceVersions('"pyodide@2.0.0"', next), '"pyodide@3.0.0-alpha.1"');
  assertEquals(await Deno.readTextFile(join(folder.path, "deno.lock")), '"pyodide@2.0.0"');
});

Deno.test("each test of an internal part belongs to one subject of the upgrade check", async () => {
  const listed = Object.values(SUBJECTS).flat();
  assertEquals(new Set(listed).size, listed.length);
  const files = (await listFiles(join(ROOT, "tests"))).filter((path) => path.endsWith("_test.ts"));
  assertEquals(listed.filter((path) => !files.includes(path)), []);
  const internal = files.filter((path) => SUBJECT_FOLDERS.some((folder) => path.startsWith(`${folder}/`)));
  assertEquals(internal.filter((path) => !listed.includes(path)), []);
});

const JUNIT = `<testsuites><testsuite><testcase name="a"></testcase>
  <testcase name="b &quot;c&quot;" classname="x"><failure message="Error: &lt;1&gt; &amp; &#x1b;[31m2">at</failure></testcase>
  <testcase name="d"><failure message="no">at</failure></testcase></testsuite></testsuites>`;

Deno.test("outcomeOf() reads the failures of a JUnit report", () => {
  const outcome = outcomeOf("realm", { junit: JUNIT, output: "", success: false, durationMs: 61_000 });
  assertEquals([outcome.passed, outcome.failed], [1, 2]);
  assertEquals(outcome.failures[0], { test: 'b "c"', message: "Error: <1> & \x1b[31m2" });
});

Deno.test("outcomeOf() counts tests that could not be loaded as one failure, with the end of their output", () => {
  const output = "\x1b[31merror\x1b[0m: Module not found\n    at x.ts:1\n";
  const outcome = outcomeOf("realm", { junit: "", output, success: false, durationMs: 1 });
  assertEquals([outcome.passed, outcome.failed], [0, 1]);
  assertEquals(outcome.failures, [{ test: "realm", message: "error: Module not found\n    at x.ts:1" }]);
});

Deno.test("formatReport() prints a table by subject, and the first failures without escapes", () => {
  const failures = ["one", "two", "three", "four"].map((test) => ({
    test,
    message: "\x1b[31mno\x1b[0m\x07",
  }));
  const report = formatReport([
    { step: "image", passed: 12, failed: 0, durationMs: 4_000, failures: [] },
    { step: "native linker", passed: 3, failed: 4, durationMs: 61_000, failures },
  ]);
  assertEquals(
    report,
    `subject        passed  failed  time
image          12      0       4 s        ok
native linker  3       4       1 min 1 s  broke

native linker:
  one
    no\\x07
  two
    no\\x07
  three
    no\\x07
  and 1 more
`,
  );
});

Deno.test("readPins() names Deno, Pyodide, each package of deno.json, the standard library and wheels", async () => {
  const pins = await readPins(ROOT);
  const texts = pins.map(({ name, registry, version }) => `${registry} ${name} ${version}`);
  const versions = await readVersions(ROOT);
  for (const name of ["deno", "pyodide"] as const) {
    assert(texts.includes(`npm ${name} ${versions[name]}`), name);
  }
  const { imports } = manifest;
  assert(texts.includes(`npm zod ${imports.zod.split("@")[1]}`));
  assert(
    texts.includes(`npm @huggingface/tokenizers ${imports["@huggingface/tokenizers"].split("@").at(-1)}`),
  );
  for (const name of ["npm deno-std", "PyPI math-verify", "PyPI tzdata"]) {
    assert(texts.some((text) => text.startsWith(`${name} `)), name);
  }
  assert(pins.every(({ version }) => /^[\d.]+$/.test(version)), texts.join("\n"));
});

const PINS: readonly Pin[] = ["a", "b", "c", "d", "e", "f"].map((name) => ({
  name,
  registry: "npm",
  version: "1.0.0",
}));

Deno.test("checkPins() asks for each package, and keeps the order", async () => {
  const { signal } = new AbortController();
  const find = async ({ name }: Pin) => {
    await new Promise((go) => setTimeout(go, name === "a" ? 5 : 0));
    return name === "c" ? "1.2.0" : "1.0.0";
  };
  const checked = await checkPins(PINS, { find, signal });
  assertEquals(checked.map(({ name }) => name), PINS.map(({ name }) => name));
  const parts = { python: "3.14.2", platform: "emscripten_5_0_3" };
  assertEquals(
    formatBehind(checked, parts),
    `package  registry  pinned  newest
c        npm       1.0.0   1.2.0

1 of 6 packages behind, 5 at the newest version
With Pyodide come CPython 3.14.2 and emscripten 5.0.3
`,
  );
  const current: CheckedPin[] = PINS.map((pin) => ({ ...pin, newest: pin.version }));
  assert(formatBehind(current, parts).startsWith("0 of 6 packages behind, 6 at the newest version\n"));
});

Deno.test("checkPins() asks for no more packages once a registry does not answer", async () => {
  const asked: string[] = [];
  const find = ({ name }: Pin) => {
    asked.push(name);
    return Promise.reject(new RegistryError("offline"));
  };
  await assertRejects(
    () => checkPins(PINS, { find, signal: new AbortController().signal }),
    RegistryError,
    "offline",
  );
  assert(asked.length < PINS.length, asked.join(" "));
});
