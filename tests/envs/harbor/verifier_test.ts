import { assertEquals, assertThrows } from "@std/assert";
import {
  type BundleEntry,
  FileBundleError,
  parseBundle,
} from "../../../src/envs/harbor/session/file_bundle.ts";
import { HARBOR_HOME } from "../../../src/envs/harbor/task.ts";
import { chooseCarried } from "../../../src/envs/harbor/verifier/carried_files.ts";
import { readReward } from "../../../src/envs/harbor/verifier/reward.ts";

Deno.test("readReward() reads numbers as Harbor does", () => {
  const rewards = [" 0.5\n", "1_0", "-3", "1e3", ".5", "nan", "inf", "", "1__0", "0x1"].map((text) => {
    const reward = readReward({ text });
    return "reward" in reward ? reward.reward : undefined;
  });
  assertEquals(rewards, [0.5, 10, -3, 1000, 0.5, undefined, undefined, undefined, undefined, undefined]);
});

Deno.test("readReward() prefers reward.json, even if the file has no reward", () => {
  assertEquals(readReward({ json: '{"reward": true, "speed": 0.5}', text: "0" }), {
    reward: 1,
    parts: { reward: 1, speed: 0.5 },
  });
  assertEquals(readReward({ json: '{"a": 1, "b": 0}' }), { reward: 0.5, parts: { a: 1, b: 0 } });
  for (const json of ["", "[]", "1", "null", "{}", '{"reward": "1"}', '{"reward": 1e999}']) {
    assertEquals("unscored" in readReward({ json, text: "1" }), true, json);
  }
});

function file(path: string, text = ""): BundleEntry {
  return { kind: "file", path, contents: new TextEncoder().encode(text), isExecutable: false };
}

const link = (path: string, target: string): BundleEntry => ({ kind: "link", path, target });
const PATHS = {
  roots: ["/app", `${HARBOR_HOME}/out`, "/usr/bin/tool"],
  named: ["/usr/bin/tool"],
  namedFiles: ["json.py"],
};

function carried(agent: readonly BundleEntry[], image: readonly BundleEntry[] = []) {
  const { entries, removed, leftOut } = chooseCarried({
    agent,
    image: { entries: image, modules: ["json", "os", "pytest"] },
    paths: PATHS,
    workdir: "/app",
  });
  return { entries: entries.map(({ path }) => path), removed, leftOut };
}

Deno.test("chooseCarried() leaves out what only prepares how the verifier runs", () => {
  const hooks = [
    file("/app/conftest.py"),
    file("/app/a/sitecustomize.py"),
    file("/app/x.pth"),
    file("/app/os.py"),
    file("/app/pytest/__init__.py"),
    file("/app/pyproject.toml", "[tool.pytest.ini_options]"),
    file("/app/.git/hooks/post-checkout"),
    file("/app/lib/site-packages/a.py"),
    link("/app/answer.txt", "/tests/expected.txt"),
    link("/app/up", "../etc"),
  ];
  assertEquals(carried(hooks), { entries: [], removed: [], leftOut: hooks.map(({ path }) => path) });
});

Deno.test("chooseCarried() takes work, hooks of the image, and files that the instruction names", () => {
  const image = [file("/app/conftest.py", "same"), file("/app/old.txt"), file("/app/tox.ini")];
  const work = [
    file("/app/conftest.py", "same"),
    file("/app/json.py"),
    file("/app/sub/os.py"),
    file("/app/pyproject.toml", "[project]"),
    link("/app/latest", "sub/os.py"),
    file("/usr/bin/tool"),
  ];
  assertEquals(carried(work, image), {
    entries: work.slice(1).map(({ path }) => path),
    removed: ["/app/old.txt"], // and not tox.ini, which configures pytest
    leftOut: [],
  });
});

Deno.test("chooseCarried() keeps a changed hook and a program of the system as the image has them", () => {
  const image = [file("/app/conftest.py", "old"), file("/usr/bin/tool", "old")];
  const agent = [file("/app/conftest.py", "new"), file("/usr/bin/tool", "new")];
  assertEquals(carried(agent, image).leftOut, ["/app/conftest.py", "/usr/bin/tool"]);
});

function packed(entries: unknown, contents = ""): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify({ entries, modules: [] })}\n${contents}`);
}

Deno.test("parseBundle() refuses names, sizes and places that a session must not give", () => {
  const good = parseBundle(packed([["file", "/app/a", 2, true], ["folder", "/app/b"]], "hi"), ["/app"]);
  assertEquals(good.entries.map(({ kind, path }) => [kind, path]), [["file", "/app/a"], [
    "folder",
    "/app/b",
  ]]);
  const wrong = [
    packed([["file", "/app/../etc/a", 0, false]]),
    packed([["file", "app/a", 0, false]]),
    packed([["file", "/app//a", 0, false]]),
    packed([["file", "/other/a", 0, false]]),
    packed([["file", "/app/a\n", 0, false]]),
    packed([["file", "/app/a", 3, false]], "hi"),
    packed([["file", "/app/a", -1, false]]),
    packed([["socket", "/app/a"]]),
    new TextEncoder().encode("no list"),
    new Uint8Array(),
  ];
  for (const bytes of wrong) assertThrows(() => parseBundle(bytes, ["/app"]), FileBundleError);
});
