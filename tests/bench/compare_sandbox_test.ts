import { assertEquals, assertStringIncludes } from "@std/assert";
import { findPython } from "../../bench/peers.ts";
import { TempFolder } from "../temp_folder.ts";

const python = (await findPython())?.executable;
const PROGRAM = decodeURIComponent(new URL("../../bench/compare/main.ts", import.meta.url).pathname);

const PROGRAMS: Readonly<Record<string, string>> = {
  "same/stdin/main.py": "import sys\nprint(sum(map(int, sys.stdin.read().split())), open('data/x').read())",
  "same/stdin/1.in": "1 2\n",
  "same/stdin/2.in": "3\n4\n",
  "same/stdin/data/x": "file",
  "same/exits/main.py": "import sys\nprint('before')\nsys.exit(3)",
  "same/raises/main.py": "raise ValueError('x')",
  "same/leaves/main.py": "import builtins\nbuiltins.left = 1\nimport os\nos._exit(4)",
  "same/left/main.py": "import builtins\nprint(hasattr(builtins, 'left'))",
  "differ/varies/main.py": "import time\nprint(time.time_ns())",
  "differ/output/main.py": "import sys\nprint(sys.platform)",
};

async function compare(
  folder: string,
  args: string[],
): Promise<{ code: number; stdout: string; stderr: string }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--no-check",
      "--quiet",
      PROGRAM,
      folder,
      "--python",
      python ?? "",
      "--jobs",
      "1",
      ...args,
    ],
    env: { NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

Deno.test({
  name: "compare runs programs natively and in a session, and lists the differences",
  ignore: python === undefined,
  fn: async () => {
    await using folder = await TempFolder.of(PROGRAMS);
    await using results = await TempFolder.of();
    const json = `${results.path}/differences.json`;
    const { code, stdout, stderr } = await compare(folder.path, ["--json", json]);
    assertEquals(code, 1, stderr);
    const rows = stdout.replaceAll(/ +/g, " ").split("\n");
    assertEquals(rows.slice(1), [
      "corpus programs same share causes",
      "differ 2 0 0.00 % output 1, varies natively 1",
      "same 6 6 100.00 %",
      "all 8 6 85.71 % output 1, varies natively 1",
      "",
    ]);
    assertStringIncludes(stderr, "output: differ/output\n");
    const found = JSON.parse(await Deno.readTextFile(json));
    assertEquals(found[0].session.stdout, "emscripten\n");
    const again = await compare(folder.path, ["--again", json, "--limit", "1"]);
    assertStringIncludes(again.stdout, ", 1 of 1 programs\n");
  },
});
