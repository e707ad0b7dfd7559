import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import type { Target } from "./payloads.ts";

const FORBIDDEN = ["root:x:0:0", "ESCAPED"];

/** The host as an attacker finds it, with checks that attacks had no effect on it. */
export class Outside implements AsyncDisposable {
  readonly target: Target;
  readonly #secret: string;
  readonly #listener: Deno.TcpListener;
  readonly #listening: Promise<void>;
  #connections = 0;
  #cached: string[] = [];

  private constructor(directory: string, cacheDir: string) {
    this.#secret = crypto.randomUUID();
    this.#listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    this.target = {
      directory,
      cacheDir,
      canary: join(directory, "canary.txt"),
      environmentName: `CANARY_${crypto.randomUUID().slice(0, 8)}`,
      port: this.#listener.addr.port,
    };
    this.#listening = this.#count();
  }

  static async create(): Promise<Outside> {
    const [directory, cacheDir] = await Promise.all([Deno.makeTempDir(), Deno.makeTempDir()]);
    const outside = new Outside(directory, cacheDir);
    await Deno.writeTextFile(outside.target.canary, outside.#secret);
    Deno.env.set(outside.target.environmentName, outside.#secret);
    return outside;
  }

  /** Records the state of the cache. Every later change counts as an effect of an attack. */
  async settle(): Promise<void> {
    this.#cached = await tree(this.target.cacheDir);
  }

  /** Fails if an attack left a trace, or if one of its outputs contains a secret of the host. */
  async check(texts: readonly string[]): Promise<void> {
    assertEquals(await Deno.readTextFile(this.target.canary), this.#secret, "the canary was changed");
    assertEquals(await tree(this.target.directory), [`${this.target.canary} ${this.#secret.length}`]);
    assertEquals(await tree(this.target.cacheDir), this.#cached, "the cache was changed");
    assertEquals(this.#connections, 0, "somebody connected");
    for (const path of ["/etc/new", join(Deno.cwd(), "new")]) assert(!await exists(path), `${path} was made`);
    for (const text of texts) {
      for (const word of [this.#secret, ...FORBIDDEN]) {
        assert(!text.includes(word), `${word} came out: ${text}`);
      }
    }
    if (Deno.build.os === "linux") checkProcesses(this.target.cacheDir);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    await this.#listening;
    Deno.env.delete(this.target.environmentName);
    await Deno.remove(this.target.directory, { recursive: true });
    await Deno.remove(this.target.cacheDir, { recursive: true });
  }

  async #count(): Promise<void> {
    for await (const connection of this.#listener) {
      this.#connections++;
      connection.close();
    }
  }
}

/**
 * Checks that no process of the cache has a child process or an internet socket. It reads without waiting, which takes
 * a tenth of the time.
 */
function checkProcesses(cacheDir: string): void {
  const parents = parentsOfProcesses();
  const started = [...parents].filter(([pid, parent]) =>
    parent === Deno.pid && commandLine(pid).includes(cacheDir)
  );
  // With a PID namespace, the started process is the parent of the sandbox's process.
  const ours = started.map(([pid]) =>
    isWrapper(pid) ? [...parents].find(([, parent]) => parent === pid)?.[0] ?? pid : pid
  );
  const theirs = [...parents].filter(([, parent]) => ours.includes(parent)).map(([pid]) => pid);
  assertEquals(theirs, [], "a sandbox started a process");
  const sockets = ours.flatMap(openFiles).filter((file) => file.startsWith("socket:"));
  if (sockets.length === 0) return; // the tables below take long to read
  const internet = internetSockets();
  assertEquals(sockets.filter((socket) => internet.has(socket)), [], "a sandbox opened a socket");
}

function isWrapper(pid: number): boolean {
  return readIfThere(`/proc/${pid}/comm`) === "unshare\n";
}

function commandLine(pid: number): string {
  return readIfThere(`/proc/${pid}/cmdline`);
}

function parentsOfProcesses(): Map<number, number> {
  const parents = new Map<number, number>();
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readIfThere(`/proc/${name}/stat`);
    const parent = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1];
    if (parent !== undefined) parents.set(Number(name), Number(parent));
  }
  return parents;
}

function internetSockets(): Set<string> {
  const tables = ["tcp", "tcp6", "udp", "udp6"].map((name) => readIfThere(`/proc/net/${name}`));
  const rows = tables.flatMap((table) => table.trim().split("\n").slice(1));
  return new Set(rows.map((row) => `socket:[${row.trim().split(/\s+/)[9]}]`));
}

/** Returns a file's text, or nothing if it does not exist: its process may have ended. */
function readIfThere(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}

function openFiles(pid: number): string[] {
  try {
    return [...Deno.readDirSync(`/proc/${pid}/fd`)].map(({ name }) => linkIfThere(`/proc/${pid}/fd/${name}`));
  } catch {
    return []; // the process ended in the meantime
  }
}

function linkIfThere(path: string): string {
  try {
    return Deno.readLinkSync(path);
  } catch {
    return ""; // closed in the meantime
  }
}

async function tree(directory: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    const path = join(directory, name);
    if (isDirectory) found.push(...await tree(path));
    else found.push(`${path} ${(await Deno.lstat(path)).size}`);
  }
  return found.sort();
}

async function exists(path: string): Promise<boolean> {
  return await Deno.lstat(path).then(() => true, () => false);
}
