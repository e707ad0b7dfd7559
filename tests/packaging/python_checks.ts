import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { childrenCpuMs } from "../../bench/processes.ts";
import { run } from "../../packaging/sources.ts";
import { writeText } from "../../src/cli/output.ts";
import { TempFolder } from "../temp_folder.ts";

/** Versions of Python that the package supports. Those that are installed are tried. */
const PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"];
/** Tools of the checks, with their versions. */
const TOOLS = ["twine==7.0.0", "mypy==2.4.1", "pyright==1.1.414"];
/** CPU time of an installation and a first result, and what the launcher adds to a start. A busy machine changes neither. */
const FIRST_RESULT_CPU_MS = 30_000;
const LAUNCHER_CPU_MS = 300;

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A program with types. A type checker must find the one wrong line, and the last one only. */
const TYPES = `
import asyncio
import paddock

def run() -> str:
    with paddock.serve(max_sessions=1) as server, server.client().session() as session:
        result: paddock.ExecResult = session.exec("1", on_output=lambda stream, text: print(stream + text))
        return result.stdout

async def run_too() -> None:
    async with paddock.AsyncClient() as client, client.session() as session:
        sizes: dict[str, int] = await session.list_files()
        print(sizes)

asyncio.run(run_too())
paddock.Client().exec("1", wrong=1)
`;

/** Prints the modules that Inspect imports. */
const ENTRY_POINTS = `
from importlib.metadata import entry_points
from importlib.util import find_spec
for point in entry_points(group="inspect_ai"):
    print(find_spec(point.value).name)
`;

const SERVE = `
import asyncio
import paddock

async def main(server):
    async with server.async_client() as client, client.session() as session:
        await session.exec("x = 6")
        return (await session.exec("x * 7")).value

with paddock.serve(max_sessions=2) as server:
    print(server.client().exec("6 * 7").value, asyncio.run(main(server)))
`;

/** Returns the path of each supported Python that is installed: on the path, or below pyenv's folder. */
async function findPythons(): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  const folder = join(Deno.env.get("PYENV_ROOT") ?? join(Deno.env.get("HOME") ?? "", ".pyenv"), "versions");
  const names = await Array.fromAsync(Deno.readDir(folder), ({ name }) => name).catch(() => []);
  for (const version of PYTHONS) {
    const installed = names.filter((name) => name.startsWith(`${version}.`));
    for (
      const program of [...installed.map((name) => join(folder, name, "bin/python")), `python${version}`]
    ) {
      const code =
        "import sys; print(sys.executable if sys.version_info[:2] == tuple(map(int, sys.argv[1].split('.'))) else '')";
      const path = await run(program, ["-c", code, version]).catch(() => "");
      if (path.trim()) found[version] = path.trim();
    }
  }
  return found;
}

/** Serves the wheels of a folder as a simple index of packages. */
function serveIndex(folder: string): Deno.HttpServer<Deno.NetAddr> {
  const onListen = () => {};
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen }, async (request) => {
    const path = decodeURIComponent(new URL(request.url).pathname);
    const names = await Array.fromAsync(Deno.readDir(folder), ({ name }) => name);
    if (path === "/simple/paddock/") {
      const links = names.map((name) => `<a href="/${name}">${name}</a>`).join("");
      return new Response(`<!DOCTYPE html><html><body>${links}</body></html>`, {
        headers: { "content-type": "text/html" },
      });
    }
    const name = names.find((name) => path === `/${name}`);
    return name ? new Response(await Deno.readFile(join(folder, name))) : new Response("", { status: 404 });
  });
}

/** Makes a virtual environment, and returns its folder of programs. */
async function createEnvironment(python: string, folder: string): Promise<string> {
  await run(python, ["-m", "venv", folder]);
  return join(folder, "bin");
}

/** Runs a program, and returns its CPU time in milliseconds. */
async function cpuMsOf(program: string, args: string[], options: Deno.CommandOptions): Promise<number> {
  const before = await childrenCpuMs();
  await run(program, args, options);
  return await childrenCpuMs() - before;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;
}

Deno.test({
  name: "the wheel runs from an index on loopback in an empty home, with each Python",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn(t) {
    await using temp = await TempFolder.of();
    const pythons = await findPythons();
    const [python = ""] = Object.values(pythons);
    assert(python !== "", `one of Python ${PYTHONS.join(", ")} must be installed`);
    const wheels = join(temp.path, "wheels");
    const build = ["task", "--cwd", ROOT, "package:python", "--out", wheels, "--python", python];
    const wheel = (await run(Deno.execPath(), build)).trim();
    const tools = await createEnvironment(python, join(temp.path, "tools"));
    await run(join(tools, "pip"), ["install", "--quiet", ...TOOLS]);

    await t.step("twine finds nothing", async () => {
      assertStringIncludes(await run(join(tools, "twine"), ["check", "--strict", wheel]), "PASSED");
    });

    await using index = serveIndex(wheels);
    const extra = ["--extra-index-url", `http://127.0.0.1:${index.addr.port}/simple/`];
    for (const [version, python] of Object.entries(pythons)) {
      await t.step(`Python ${version} installs and runs it`, async () => {
        const bin = await createEnvironment(python, join(temp.path, version));
        const home = join(temp.path, `home-${version}`);
        await Deno.mkdir(home);
        const env = { HOME: home, PATH: `${bin}:/usr/bin:/bin`, INIT_CWD: "/" };
        const before = await childrenCpuMs();
        await run(join(bin, "pip"), ["install", "--quiet", ...extra, "paddock"], { env });
        assertEquals(
          await run(join(bin, "paddock"), ["exec", "-e", "print(6*7)"], { cwd: home, env }),
          "42\n",
        );
        const first = await childrenCpuMs() - before;
        await writeText(Deno.stdout, `  first result after ${first} ms of CPU time\n`);
        assert(!(first > FIRST_RESULT_CPU_MS), `the first result took ${first} ms of CPU time`);
        await Deno.writeTextFile(join(home, "two.py"), "print(input())\nraise SystemExit(7)");
        const file = await new Deno.Command("sh", {
          args: ["-c", "echo piped | python -m paddock exec two.py"],
          cwd: home,
          env,
        }).output();
        assertEquals([file.code, new TextDecoder().decode(file.stdout)], [7, "piped\n"]);
        assertEquals(
          await run(join(bin, "python"), ["-W", "error", "-c", SERVE], { cwd: home, env }),
          "42 42\n",
        );
        assertEquals(await run(join(bin, "python"), ["-c", ENTRY_POINTS], { env }), "paddock.inspect_ai\n");
        await run(join(bin, "pip"), ["install", "--quiet", ...extra, "paddock[httpx]"], { env });
        assertEquals(
          await run(join(bin, "python"), ["-W", "error", "-c", SERVE], { cwd: home, env }),
          "42 42\n",
        );
      });
    }

    const [version = ""] = Object.keys(pythons);
    const bin = join(temp.path, version, "bin");
    const env = { HOME: join(temp.path, `home-${version}`) };
    await t.step("the launcher adds at most 0.3 s of CPU time", async () => {
      const site = (await run(join(bin, "python"), ["-c", "import paddock; print(paddock.__path__[0])"]))
        .trim();
      const cli = join(site, "_sources/src/cli/main.ts");
      const commands = {
        direct: [join(bin, "deno"), "run", "-A", "--quiet", cli, "--version"],
        launched: [join(bin, "paddock"), "--version"],
      };
      const times: Record<string, number[]> = { direct: [], launched: [] };
      for (let round = 0; round < 9; round++) {
        for (const [kind, [program = "", ...args]] of Object.entries(commands)) {
          times[kind]?.push(await cpuMsOf(program, args, { env }));
        }
      }
      const added = median(times.launched ?? []) - median(times.direct ?? []);
      await writeText(Deno.stdout, `  the launcher adds ${added} ms of CPU time\n`);
      assert(!(added > LAUNCHER_CPU_MS), `the launcher added ${added} ms of CPU time`);
    });

    await t.step("mypy and pyright read the types of the package", async () => {
      await Deno.writeTextFile(join(temp.path, "uses.py"), TYPES);
      const lines = TYPES.split("\n");
      const wrong = lines.findIndex((line) => line.includes("wrong=1")) + 1;
      const options = {
        args: ["--strict", "--python-executable", join(bin, "python"), "uses.py"],
        cwd: temp.path,
      };
      const mypy = await new Deno.Command(join(tools, "mypy"), options).output();
      const text = new TextDecoder().decode(mypy.stdout);
      assertEquals(text.match(/^uses\.py:\d+: error/gm), [`uses.py:${wrong}: error`], text);
      const pyright = await new Deno.Command(join(tools, "pyright"), {
        args: ["--outputjson", "--pythonpath", join(bin, "python"), "uses.py"],
        cwd: temp.path,
      }).output();
      const { generalDiagnostics } = JSON.parse(new TextDecoder().decode(pyright.stdout));
      const found = generalDiagnostics.map(({ range }: { range: { start: { line: number } } }) =>
        range.start.line + 1
      );
      assertEquals(found, [wrong], JSON.stringify(generalDiagnostics));
    });
  },
});
