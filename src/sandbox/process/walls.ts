/** A property of a sandbox's process that the kernel enforces, as `/proc` of the host shows it. */
export interface WallCheck {
  readonly name: string;
  readonly holds: boolean;
  /** The values that decide. */
  readonly seen: string;
}

/** The files of `/proc` about a process. */
interface ProcessState {
  readonly status: ReadonlyMap<string, string>;
  readonly limits: string;
  readonly namespaces: Readonly<Record<Namespace, string>>;
  /** Id of the user in its own user namespace. */
  readonly ownUid: string;
  /** Open files by descriptor. */
  readonly files: ReadonlyMap<number, string>;
}

type Namespace = "user" | "net" | "ipc" | "uts" | "pid" | "mnt";

const NAMESPACES: readonly Namespace[] = ["user", "net", "ipc", "uts", "pid", "mnt"];

/**
 * Examines a process from outside, through `/proc`, and compares it with this process.
 *
 * @throws {Deno.errors.NotFound} if there is no such process.
 */
export async function inspectWalls(pid: number): Promise<WallCheck[]> {
  const [sandbox, host] = await Promise.all([readState(String(pid)), readState("self")]);
  const field = (name: string) => sandbox.status.get(name) ?? "";
  const uid = uidOf(sandbox);
  const fileSize = limitOf(sandbox, "Max file size");
  const threads = limitOf(sandbox, "Max processes");
  const shared = sharedFiles(sandbox, host);
  return [
    check("no capabilities", Number(`0x${field("CapEff")}`) + Number(`0x${field("CapBnd")}`) === 0, [
      `effective ${field("CapEff")}, bounding ${field("CapBnd")}`,
    ]),
    check("not root", uid !== "0", [`user ${uid} of the host`]),
    check("not the host's user", sandbox.ownUid !== uidOf(host), [`user ${sandbox.ownUid} in its namespace`]),
    check("no new privileges", field("NoNewPrivs") === "1", [`NoNewPrivs ${field("NoNewPrivs")}`]),
    check("system calls are filtered", field("Seccomp") === "2", [`Seccomp ${field("Seccomp")}`]),
    ...NAMESPACES.map((name) =>
      check(`separate ${name} namespace`, sandbox.namespaces[name] !== host.namespaces[name], [
        sandbox.namespaces[name],
      ])
    ),
    check("no descriptor of the host", shared.length === 0, shared.length === 0 ? ["none"] : shared),
    check("no file can be written", fileSize === "0", [`RLIMIT_FSIZE ${fileSize}`]),
    check("no process can be started", field("Seccomp") === "2" && threads !== "unlimited", [
      `filtered, at most ${threads} threads`,
    ]),
  ];
}

function check(name: string, holds: boolean, seen: readonly string[]): WallCheck {
  return { name, holds, seen: seen.join(", ") };
}

async function readState(id: string): Promise<ProcessState> {
  const read = (file: string) => Deno.readTextFile(`/proc/${id}/${file}`);
  const [status, limits, uidMap] = await Promise.all([read("status"), read("limits"), read("uid_map")]);
  const links = await Promise.all(NAMESPACES.map(async (name) => {
    return [name, await Deno.readLink(`/proc/${id}/ns/${name}`)] as const;
  }));
  const fields = status.split("\n").map((line) => line.split(/:\s*/, 2) as [string, string]);
  const [ownUid = ""] = uidMap.trim().split(/\s+/);
  const state = { status: new Map(fields), limits, files: await openFiles(id) };
  const namespaces = Object.fromEntries(links) as Record<Namespace, string>;
  // A namespace with a single user maps its id; the initial namespace maps all.
  return { ...state, namespaces, ownUid: /\s1$/.test(uidMap.trim()) ? ownUid : uidOf(state) };
}

function uidOf({ status }: Pick<ProcessState, "status">): string {
  return (status.get("Uid") ?? "").split("\t")[0] ?? "";
}

async function openFiles(id: string): Promise<Map<number, string>> {
  const files = new Map<number, string>();
  for await (const { name } of Deno.readDir(`/proc/${id}/fd`)) {
    const target = await Deno.readLink(`/proc/${id}/fd/${name}`).catch(() => ""); // closed since then
    files.set(Number(name), target);
  }
  return files;
}

/** Returns files that are open in both processes, other than the sandbox's stdin, stdout and stderr. */
function sharedFiles(sandbox: ProcessState, host: ProcessState): string[] {
  const hostFiles = new Set(host.files.values());
  const standard = [0, 1, 2].map((descriptor) => sandbox.files.get(descriptor));
  return [...new Set(sandbox.files.values())].filter((target) =>
    hostFiles.has(target) && !standard.includes(target) && !target.startsWith("anon_inode:")
  );
}

/** Returns the soft limit of a resource. */
function limitOf({ limits }: ProcessState, name: string): string {
  const line = limits.split("\n").find((text) => text.startsWith(name)) ?? "";
  return line.slice(name.length).trim().split(/\s+/)[0] ?? "";
}
