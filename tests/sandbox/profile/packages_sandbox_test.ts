import { assertEquals, assertRejects } from "@std/assert";
import { zipSync } from "fflate";
import { join } from "node:path";
import { parseProfile } from "../../../src/sandbox/profile/profile.ts";
import { Sandbox } from "../../../src/sandbox/sandbox.ts";
import { sha256 } from "../../../src/hash.ts";
import { copyPlainImage } from "../copy_image.ts";
import { TempFolder } from "../../temp_folder.ts";

const encoder = new TextEncoder();

Deno.test("Sandbox.start() installs packages in the image and mounts files", async () => {
  await withFolder(async (directory) => {
    const digest = await writeWheel(join(directory, "demo-1.0-py3-none-any.whl"), {
      "demo/__init__.py":
        "from importlib.resources import files\nword = files('demo').joinpath('word.txt').read_text()\n" +
        "try:\n    import js\nexcept ImportError:\n    js = None",
      "demo/word.txt": "from the wheel",
      "demo-1.0.data/purelib/extra.py": "word = 'beside the package'",
      "shared/one/__init__.py": "word = 'in a namespace'",
      "demo-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n",
      "demo-1.0.dist-info/entry_points.txt": "[demo.words]\nfirst = extra:word\n",
    });
    await Deno.mkdir(join(directory, "data", "inner"), { recursive: true });
    await Deno.writeTextFile(join(directory, "data", "inner", "a.txt"), "a folder");
    await Deno.writeTextFile(join(directory, "one.txt"), "a file");
    await copyPlainImage(join(directory, "cache"));
    await using sandbox = await Sandbox.start({
      cacheDir: join(directory, "cache"),
      profile: parseProfile(
        JSON.stringify({
          preimports: ["demo", "email.message", "email.parser"], // they run while the image is built
          packages: { demo: { wheel: "demo-1.0-py3-none-any.whl", sha256: digest } },
          mounts: { "/data": "data", "/etc/one.txt": "one.txt" },
        }),
        { source: "mine", directory },
      ),
    });
    const session = await sandbox.openSession();
    const value = async (code: string) => {
      const result = await session.exec(code);
      return result.status === "ok" ? result.value : JSON.stringify(result);
    };
    const look = [
      "import demo, importlib.metadata",
      "[demo.word, importlib.metadata.version('demo'), open('/data/inner/a.txt').read(), open('/etc/one.txt').read()]",
    ].join("\n");
    assertEquals(await value(look), "['from the wheel', '1.0', 'a folder', 'a file']");
    assertEquals(await value("demo.js is None"), "True");
    const layout = [
      "import extra, shared.one, importlib.metadata",
      "[point] = importlib.metadata.entry_points(group='demo.words')",
      "[extra.word, shared.one.word, point.load(), extra.__cached__.endswith('.pyc')]",
    ].join("\n");
    assertEquals(await value(layout), "['beside the package', 'in a namespace', 'beside the package', True]");
    await session.reset({ mode: "rewind" });
    assertEquals(await value(look), "['from the wheel', '1.0', 'a folder', 'a file']");
    for (
      const path of [
        "/data/inner/a.txt",
        "/data/new.txt",
        "/etc/one.txt",
        "/lib/python3.14/site-packages/x.pth",
      ]
    ) {
      const result = await session.exec(`open('${path}', 'w')`);
      assertEquals([path, result.status === "error" && result.error.type], [path, "PermissionError"]);
    }
  });
});

Deno.test("Session.shell() runs pip and the console scripts of the profile's packages", async () => {
  await withFolder(async (directory) => {
    const digest = await writeWheel(join(directory, "demo-1.0-py3-none-any.whl"), {
      "demo.py": "import sys\ndef main():\n    print(sys.argv, input())\n    return 3",
      "demo-1.0.dist-info/METADATA":
        "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\nSummary: Shows\nRequires-Dist: other>1; extra == 'x'\n",
      "demo-1.0.dist-info/entry_points.txt": "[console_scripts]\ndemo-run = demo:main\n",
    });
    await copyPlainImage(join(directory, "cache"));
    await using sandbox = await Sandbox.start({
      cacheDir: join(directory, "cache"),
      profile: parseProfile(
        JSON.stringify({
          shell: true,
          packages: { demo: { wheel: "demo-1.0-py3-none-any.whl", sha256: digest } },
        }),
        { source: "mine", directory },
      ),
    });
    const session = await sandbox.openSession();
    const output = async (command: string) => {
      const result = await session.shell(command);
      const code = "exitCode" in result ? result.exitCode : result.status;
      return [result.stdout, result.stderr, code];
    };
    assertEquals(await output("echo in | demo-run a 'b c'"), [
      "['/usr/bin/demo-run', 'a', 'b c'] in\n",
      "",
      3,
    ]);
    assertEquals(await output("which demo-run pip"), ["/usr/bin/demo-run\n/usr/bin/pip\n", "", 0]);
    assertEquals(await output("pip list"), ["Package Version\n------- -------\ndemo    1.0\n", "", 0]);
    assertEquals(await output("python -m pip freeze"), ["demo==1.0\n", "", 0]);
    assertEquals(await output("pip show demo | head -3"), [
      "Name: demo\nVersion: 1.0\nSummary: Shows\n",
      "",
      0,
    ]);
    assertEquals(await output("pip show nothing"), ["", "WARNING: Package(s) not found: nothing\n", 1]);
    assertEquals(await output("pip install -q demo"), [
      "Requirement already satisfied: demo in /lib/python3.14/site-packages (1.0)\n",
      "",
      0,
    ]);
    assertEquals(await output("pip install 'six>=1'"), [
      "",
      "ERROR: Cannot install six>=1 as a sandbox has no network: its profile must have the package: " +
      "paddock packages add six\n",
      1,
    ]);
  });
});

Deno.test("Sandbox.start() refuses a package that is damaged, native, or missing from its lock file", async () => {
  await withFolder(async (directory) => {
    const native = await writeWheel(join(directory, "native.whl"), { "native/core.so": "\u007fELF" });
    const plain = await writeWheel(join(directory, "plain.whl"), { "plain.py": "" });
    await Deno.writeTextFile(join(directory, "text.whl"), "no zip");
    await Deno.writeTextFile(join(directory, "lock.json"), JSON.stringify({ packages: {} }));
    const lock = await sha256(await Deno.readFile(join(directory, "lock.json")));
    const cases: [Record<string, unknown>, string][] = [
      [{ wheel: "plain.whl", sha256: native }, `its sha256 must be ${native}: current value is ${plain}`],
      [{ wheel: "native.whl", sha256: native }, "its native code must be for pyemscripten_2026_0_wasm32"],
      [{ wheel: "text.whl", sha256: await sha256("no zip") }, "it is not a wheel"],
      [{ lock: "lock.json", sha256: lock }, "'demo' is not in its lock file"],
    ];
    for (const [entry, reason] of cases) {
      const profile = parseProfile(JSON.stringify({ packages: { demo: entry } }), {
        source: "mine",
        directory,
      });
      const start = () => Sandbox.start({ profile, cacheDir: join(directory, "cache") });
      await assertRejects(start, TypeError, `Cannot install package 'demo' as ${reason}`);
    }
  });
});

async function writeWheel(path: string, files: Record<string, string>): Promise<string> {
  const entries = Object.entries(files).map(([name, text]) => [name, encoder.encode(text)] as const);
  const bytes = zipSync(Object.fromEntries(entries));
  await Deno.writeFile(path, bytes);
  return await sha256(bytes);
}

async function withFolder(work: (directory: string) => Promise<void>): Promise<void> {
  await using folder = await TempFolder.of();
  await work(folder.path);
}
