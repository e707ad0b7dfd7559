import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { basename, join } from "node:path";
import { PipResolver } from "../../../src/cli/packages/pip.ts";
import { storePath } from "../../../src/sandbox/image/package_store.ts";
import { copyPlainImage } from "../../sandbox/copy_image.ts";
import { assembleSideModule } from "../../sandbox/profile/side_modules.ts";
import { TempFolder } from "../../temp_folder.ts";
import { type Run, runPaddock } from "../run_paddock.ts";
import { PackageIndex, type TestWheel } from "./package_index.ts";

const CLI = decodeURIComponent(new URL("../../../src/cli.ts", import.meta.url).pathname);
const WHEELS: readonly TestWheel[] = [
  { name: "demo", version: "1.0", requires: ["helper>=1"] },
  { name: "helper", version: "1.2" },
  { name: "other", version: "3.0" },
  {
    name: "broken",
    version: "1.0",
    tags: "cp314-cp314-pyemscripten_2026_0_wasm32",
    files: {
      "broken/fast.so": assembleSideModule(
        `(import "env" "no_such_function" (func $f))`,
        `(func (export "x"))`,
      ),
    },
  },
];
const hasPip = await PipResolver.find({}) !== undefined;

Deno.test("paddock packages", async (t) => {
  await using index = await PackageIndex.serve(WHEELS);
  await using folder = await TempFolder.of({
    "script.py":
      "# /// script\n# dependencies = ['demo']\n# ///\nimport demo, helper\nprint(helper.__version__)\n",
  });
  const cacheDir = join(folder.path, "cache");
  await copyPlainImage(cacheDir);
  const env = { XDG_CONFIG_HOME: join(folder.path, "config") };
  const profile = join(env.XDG_CONFIG_HOME, "paddock", "python.jsonc");
  const run = async (...args: string[]) => await runPaddock(["--cache-dir", cacheDir, ...args], "", { env });
  const packages = async (command: string, ...args: string[]) => await run("packages", command, ...args);
  const indexed = ["--index", index.url];

  await t.step("add writes a copy of the profile, which exec uses", async () => {
    const added = await packages("add", "demo>=1", ...indexed);
    assertEquals(added, {
      code: 0,
      stdout: `+ demo 1.0\n+ helper 1.2\nProfile 'python' is ${profile}\n`,
      stderr: "",
    });
    assertStringIncludes(await Deno.readTextFile(profile), "// The default sandbox");
    const { code, stdout } = await run("exec", "-e", "import demo\nprint(demo.__version__)");
    assertEquals([code, stdout], [0, "1.0\n"]);
  });

  await t.step("list and why show what is there for which reason", async () => {
    const list = "demo    1.0  index  demo>=1\nhelper  1.2  index  needed by demo\n";
    assertEquals((await packages("list")).stdout, list);
    const why = "helper 1.2\n  needed by demo 1.0 (requested: demo>=1)\n";
    assertEquals((await packages("why", "Helper")).stdout, why);
  });

  await t.step("lock downloads what is missing or damaged", async () => {
    const [, digest = ""] = /"sha256": "(\w+)"/.exec(await Deno.readTextFile(profile)) ?? [];
    await Deno.writeTextFile(storePath(cacheDir, digest), "damaged");
    assertStringIncludes((await packages("list")).stdout, "(not downloaded)");
    const locked = "Profile 'python' has 2 packages: 1 downloaded, all hashes checked\n";
    assertEquals((await packages("lock", ...indexed)).stdout, locked);
    const requests = index.requests.length;
    assertStringIncludes((await packages("lock", ...indexed)).stdout, "0 downloaded");
    assertEquals(index.requests.length, requests);
  });

  await t.step("remove removes what only the package needs", async () => {
    await packages("add", "other", ...indexed);
    await refuse(
      packages("remove", "helper"),
      "Cannot remove 'helper' as other packages of profile 'python' need it",
    );
    assertEquals((await packages("remove", "demo")).stdout.split("\n").slice(0, 2), [
      "- demo 1.0",
      "- helper 1.2",
    ]);
    assertEquals((await packages("list")).stdout, "other  3.0  index  other\n");
  });

  await t.step("add changes nothing if a library needs a symbol that nothing provides", async () => {
    const before = await Deno.readTextFile(profile);
    await refuse(packages("add", "broken", ...indexed), "needs the symbol 'no_such_function'");
    assertEquals(await Deno.readTextFile(profile), before);
  });

  await t.step("wrong usage has one line and the exit code 2", async () => {
    await refuse(packages("add", "./demo.whl", ...indexed), "Cannot read requirement './demo.whl'");
    await refuse(packages("add", "nothing", ...indexed), "Cannot add 'nothing' as");
    await refuse(packages("why", "nothing"), "Cannot find package 'nothing'");
    await refuse(run("exec", "--with-deps", "-e", "1"), "--with-deps needs a program file");
  });

  const variables = { ...env, PIP_INDEX_URL: index.url, PIP_RETRIES: "0", HOME: folder.path };

  await t.step("a profile whose packages are missing is used after --yes only", async () => {
    const fresh = ["--cache-dir", join(folder.path, "fresh")];
    await copyPlainImage(join(folder.path, "fresh"));
    const args = ["exec", "-e", "import other\nprint(other.__version__)"];
    await refuse(
      spawn([...fresh, ...args], variables),
      "add --yes, or run 'paddock packages lock --profile python'",
    );
    const agreed = await spawn([...fresh, "--yes", ...args], variables);
    if (hasPip) assertEquals([agreed.code, agreed.stdout], [0, "3.0\n"]);
    else assertEquals(agreed.code, 2);
  });

  await t.step(
    "exec --with-deps adds the packages of a script, offline from the second time on",
    async () => {
      const args = ["--cache-dir", cacheDir, "exec", "--with-deps", join(folder.path, "script.py")];
      const first = await spawn(args, variables);
      if (hasPip) {
        assertEquals([first.code, first.stdout, first.stderr.includes("error")], [
          0,
          "1.2\n",
          false,
        ]);
      }
      const again = await spawn(args, { ...variables, PIP_INDEX_URL: "http://127.0.0.1:9/" });
      if (hasPip) assertEquals([again.code, again.stdout], [0, "1.2\n"]);
      else assertEquals([first.code, again.code], [2, 2]);
    },
  );

  await t.step("without pip, --index is needed and enough", async () => {
    const bare = { ...env, PATH: join(folder.path, "none"), HOME: folder.path };
    const file = join(folder.path, "bare.jsonc");
    const args = ["--cache-dir", cacheDir, "packages", "add", "--profile", file, "demo"];
    await refuse(spawn(args, bare), "neither python3 with pip nor uv is installed");
    const { code, stdout } = await spawn([...args, ...indexed], bare);
    assertEquals([code, stdout], [0, `+ demo 1.0\n+ helper 1.2\nProfile '${file}' is ${file}\n`]);
    assertMatch(await Deno.readTextFile(file), /"requirement": "demo"/);
    assertEquals(basename(file), "bare.jsonc");
  });
});

async function refuse(run: Promise<Run>, message: string): Promise<void> {
  const { code, stderr } = await run;
  assertStringIncludes(stderr, message);
  assertEquals([code, stderr.trimEnd().split("\n").length], [2, 1]);
}

/** Runs the command line in a process with other variables: pip reads its configuration from them. */
async function spawn(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Run> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--no-check", CLI, ...args],
    env: {
      NO_COLOR: "1",
      DENO_DIR: Deno.env.get("DENO_DIR") ?? join(Deno.env.get("HOME") ?? "", ".cache/deno"),
      ...env,
    },
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  return {
    code,
    stdout: decoder.decode(stdout),
    stderr: decoder.decode(stderr).replace(/^Building the .*\n/m, ""),
  };
}
