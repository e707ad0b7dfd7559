import { assert, assertEquals } from "@std/assert";
import { stripTypeScriptTypes } from "node:module";
import { basename } from "node:path";
import { loadProfile, type Profile } from "../../../src/sandbox/profile/profile.ts";
import type { Layer } from "../../../src/sandbox/profile/schema.ts";
import { isRoot } from "../../../src/sandbox/process/layer_probes.ts";
import { detectLayers } from "../../../src/sandbox/process/layers.ts";
import { confinedCommand } from "../../../src/sandbox/process/namespaces.ts";
import { inspectWalls } from "../../../src/sandbox/process/walls.ts";
import { Sandbox } from "../../../src/sandbox/sandbox.ts";
import { TempFolder } from "../../temp_folder.ts";

const detected = await detectLayers();
const working = new Set(detected.filter(({ works }) => works).map(({ layer }) => layer));
const WALLS: readonly Layer[] = [
  "noNewPrivs",
  "unprivilegedUser",
  "capabilities",
  "userNamespace",
  "netNamespace",
  "ipcNamespace",
  "utsNamespace",
  "pidNamespace",
  "mountNamespace",
  "descriptors",
  "seccomp",
  "landlock",
];
const hasWalls = WALLS.filter((layer) => layer !== "landlock").every((layer) => working.has(layer));

for (const name of ["python", "tools", "workspace", "strict"]) {
  Deno.test({ name: `every wall stands around the process of '${name}'`, ignore: !hasWalls }, async () => {
    using _leaked = openForChildren("/etc/passwd");
    await using sandbox = await Sandbox.start({ profile: await loadProfile(name), detected });
    await sandbox.openSession();
    const checks = await inspectWalls(sandbox.pid ?? 0);
    assertEquals(checks.length, 14);
    assertEquals(checks.filter(({ holds }) => !holds), []);
  });
}

/** Layers that have no effect without others. */
const NEEDS: Partial<Record<Layer, readonly Layer[]>> = {
  unprivilegedUser: ["mountNamespace", "userNamespace"],
  capabilities: isRoot() ? [] : ["userNamespace"],
  netNamespace: ["userNamespace"],
  ipcNamespace: ["userNamespace"],
  utsNamespace: ["userNamespace"],
  pidNamespace: ["userNamespace"],
  mountNamespace: ["userNamespace"],
};

Deno.test({ name: "each wall stops an attack that succeeds without it", ignore: !hasWalls }, async (t) => {
  await using target = await AttackedHost.create();
  // A host that is not root has no files that its own user may not read.
  const attacked = WALLS.filter((layer) => working.has(layer) && (layer !== "unprivilegedUser" || isRoot()));
  await t.step("no wall", async () => {
    const reached = await target.attack([]);
    assertEquals(attacked.filter((layer) => !reached.includes(layer)), []);
  });
  for (const layer of attacked) {
    await t.step(layer, async () => {
      const reached = await target.attack([...NEEDS[layer] ?? [], layer]);
      assert(!reached.includes(layer), `it reached ${reached.join(", ")}`);
    });
  }
  await t.step("every wall", async () => {
    const reached = await target.attack(attacked);
    assertEquals(attacked.filter((layer) => reached.includes(layer)), []);
  });
});

/** The attacker and the guest's files that it imports. They run as JavaScript, as a sandbox's own files do. */
const SCRIPTS = [
  "./attacker.ts",
  "../../../src/sandbox/guest/supervisor/confine.ts",
  "../../../src/sandbox/guest/supervisor/allowed_calls.ts",
];

async function attackerFiles(): Promise<Record<string, string>> {
  const sources = await Promise.all(SCRIPTS.map(async (path) => {
    const source = stripTypeScriptTypes(await Deno.readTextFile(new URL(path, import.meta.url)));
    return [basename(path, ".ts") + ".js", source.replace(/from "[^"]*\/(\w+)\.ts"/g, 'from "./$1.js"')];
  }));
  return Object.fromEntries(sources);
}

const MEMORY_KEY = 0x50616464;
const IPC_CREATE = 0o1600;
const IPC_REMOVE = 0;

/** Things of the host that an attack tries to reach. */
class AttackedHost implements AsyncDisposable {
  readonly #stack: AsyncDisposableStack;
  readonly #plan: Record<string, unknown>;
  readonly #scripts: string;

  private constructor(stack: AsyncDisposableStack, plan: Record<string, unknown>, scripts: string) {
    this.#stack = stack;
    this.#plan = plan;
    this.#scripts = scripts;
  }

  static async create(): Promise<AttackedHost> {
    const stack = new AsyncDisposableStack();
    const folder = stack.use(
      await TempFolder.of({
        secret: "secret",
        "scripts/own": "secret",
        ...Object.fromEntries(
          Object.entries(await attackerFiles()).map(([name, text]) => [`scripts/${name}`, text]),
        ),
      }),
    );
    const secret = `${folder.path}/secret`;
    const scripts = `${folder.path}/scripts`;
    await Deno.chmod(`${scripts}/own`, 0o600);
    const listener = stack.use(Deno.listen({ hostname: "127.0.0.1", port: 0 }));
    const leaked = stack.use(openForChildren(secret));
    stack.use(createSharedMemory());
    return new AttackedHost(stack, {
      hostUid: Deno.uid(),
      hostPid: Deno.pid,
      port: listener.addr.port,
      secret,
      ownSecret: `${scripts}/own`,
      descriptor: leaked.descriptor,
      memoryKey: MEMORY_KEY,
      hostNames: await Deno.readLink("/proc/self/ns/uts"),
    }, scripts);
  }

  /** Attacks from behind the given layers. Returns those whose attack succeeded. */
  async attack(layers: readonly Layer[]): Promise<Layer[]> {
    const own = (["descriptors", "seccomp", "landlock"] as const).filter((layer) => layers.includes(layer));
    const readable = [Deno.execPath(), this.#scripts];
    const plan = {
      ...this.#plan,
      ...(own.length > 0 && { confine: { layers: own, readable, openFiles: 64 } }),
    };
    const flags = ["--no-config", "--no-lock", "--no-remote", "--no-npm", "--quiet", "-A"];
    const script = `${this.#scripts}/attacker.js`;
    const [program = "", ...args] = confinedCommand(
      [Deno.execPath(), "run", ...flags, script, JSON.stringify(plan)],
      { layers: new Set(layers), paths: readable, isRoot: isRoot() },
    );
    const { stdout, stderr } = await new Deno.Command(program, {
      args,
      clearEnv: true,
      env: { DENO_DIR: "/proc/nope", NO_COLOR: "1" },
      cwd: "/",
    }).output();
    const text = new TextDecoder();
    assert(stdout.length > 0, text.decode(stderr));
    return JSON.parse(text.decode(stdout));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

/** Opens a file as a program does that starts Paddock: its descriptor stays open in every child. */
function openForChildren(path: string): Disposable & { readonly descriptor: number } {
  const libc = Deno.dlopen("libc.so.6", {
    open: { parameters: ["buffer", "i32"], result: "i32" },
    close: { parameters: ["i32"], result: "i32" },
  });
  const descriptor = libc.symbols.open(new TextEncoder().encode(`${path}\0`), 0);
  return {
    descriptor,
    [Symbol.dispose]() {
      libc.symbols.close(descriptor);
      libc.close();
    },
  };
}

function createSharedMemory(): Disposable {
  const libc = Deno.dlopen("libc.so.6", {
    shmget: { parameters: ["i32", "usize", "i32"], result: "i32" },
    shmctl: { parameters: ["i32", "i32", "pointer"], result: "i32" },
  });
  const memory = libc.symbols.shmget(MEMORY_KEY, 4096n, IPC_CREATE);
  return {
    [Symbol.dispose]() {
      libc.symbols.shmctl(memory, IPC_REMOVE, null);
      libc.close();
    },
  };
}

/** Ways to start a process: with all layers, and without some, so that other programs are around it. */
const WRAPPERS: Readonly<Record<string, readonly Layer[]>> = {
  "every layer": [],
  "root in its namespace": ["unprivilegedUser"],
  "the host's files": ["mountNamespace"],
  "the host's processes": ["pidNamespace"],
  "no namespaces": ["userNamespace"],
};

for (const [name, off] of Object.entries(WRAPPERS)) {
  Deno.test({
    name: `a process with ${name} is found, interrupted and killed`,
    ignore: !hasWalls,
  }, async () => {
    const python = await loadProfile("python");
    const layers = { ...python.layers, ...Object.fromEntries(off.map((layer) => [layer, "off"])) };
    const profile: Profile = { ...python, layers, limits: { ...python.limits, graceMs: 20_000 } };
    const sandbox = await Sandbox.start({ profile, detected });
    await using _ = sandbox;
    const session = await sandbox.openSession();
    const pid = sandbox.pid ?? 0;
    assertEquals(await Deno.readTextFile(`/proc/${pid}/comm`), "deno\n");
    await session.exec("kept = 1");
    const interrupted = await session.exec("while True: pass", { timeoutMs: 500 });
    assertEquals([interrupted.status, interrupted.stateKept], ["timeout", true]);
    Deno.kill(pid, "SIGKILL");
    let next = await session.exec("print('kept' in globals())");
    if (next.status === "crashed") next = await session.exec("print('kept' in globals())");
    assertEquals([next.status, next.stdout], ["ok", "False\n"]);
    const second = sandbox.pid ?? 0;
    await sandbox[Symbol.asyncDispose]();
    for (const ended of [pid, second]) while (isAlive(ended)) await new Promise((go) => setTimeout(go, 20));
  });
}

function isAlive(pid: number): boolean {
  try {
    return !Deno.readTextFileSync(`/proc/${pid}/status`).includes("State:\tZ");
  } catch {
    return false; // it has ended
  }
}
