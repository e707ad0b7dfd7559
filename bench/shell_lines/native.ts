import { runConfined, SYSTEM_FILES } from "./trees.ts";

/** What a line printed and left. */
export interface Outcome {
  readonly stdout: string;
  readonly complains: boolean;
  readonly exitCode: number;
  /** Changed paths of the tree and the home folder, with type, mode and hash. */
  readonly changes: Readonly<Record<string, string>>;
  /** stderr, for the report only. */
  readonly stderr: string;
}

const MAX_OUTPUT = 500_000;
const TIMEOUT_MS = 5_000;

/** A copy of a tree. The inodes of its files are those of no other copy that exists at the same time. */
export class TreeCopy implements AsyncDisposable {
  readonly folder: string;
  readonly #tree: string;

  private constructor(folder: string, tree: string) {
    this.folder = folder;
    this.#tree = tree;
  }

  static async make(tree: string): Promise<TreeCopy> {
    const folder = await Deno.makeTempDir();
    await copyTree(tree, `${folder}/tree`);
    for (const name of SYSTEM_FILES) await Deno.copyFile(`${tree}/../${name}`, `${folder}/${name}`);
    await Deno.mkdir(`${folder}/tree/home/pyodide`, { recursive: true });
    return new TreeCopy(folder, tree);
  }

  /**
   * Runs a line in bash in the copy. Returns `undefined` if the line does not end in time, prints too much, or leaves
   * paths that are too long to be listed.
   */
  async run(script: string, cwd: string): Promise<Outcome | undefined> {
    const { folder } = this;
    const tree = this.#tree;
    const before = await listTree(tree);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const { stdout, stderr, code, success, signal: ended } = await runConfined(script, `${folder}/tree`, {
      cwd,
      home: `${folder}/tree/home/pyodide`,
      signal,
    }).output();
    if (ended || (!success && signal.aborted) || stdout.length > MAX_OUTPUT) return undefined;
    const changes = await listChanges(`${folder}/tree`, before);
    if (!changes) return undefined;
    return {
      stdout: toText(stdout),
      stderr: new TextDecoder().decode(stderr.subarray(0, 2000)),
      complains: stderr.length > 0,
      exitCode: code,
      changes: withoutHome(changes),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Deno.Command("rm", { args: ["-rf", this.folder] }).output();
  }
}

/** Decodes output as a session does: bytes that are no text become a character each. */
function toText(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  }
}

/** Leaves out the home folder itself, which the sandbox has from its start. */
function withoutHome({ "/home/pyodide": _, ...changes }: Record<string, string>): Record<string, string> {
  return changes;
}

async function copyTree(from: string, to: string): Promise<void> {
  await new Deno.Command("cp", { args: ["-a", "--reflink=auto", from, to] }).output();
}

/**
 * Python that lists the files of a tree, by type, mode, size and time, and hashes those that differ from an earlier
 * list. The sandbox runs the same.
 */
export const LIST_PROGRAM = `
import hashlib, json, os, stat
ROOTS = ("testbed", "system", "workspace", "backup", "home")
def entries(top):
    found = {}
    for root in ROOTS:
        for folder, folders, files in os.walk(top + "/" + root):
            for entry in folders + files:
                path = os.path.join(folder, entry)
                info = os.lstat(path)
                kind = stat.S_IFMT(info.st_mode)
                time = 0 if kind == stat.S_IFDIR else int(info.st_mtime)
                found[path[len(top):]] = [kind, info.st_mode & 0o111, 0 if kind == stat.S_IFDIR else info.st_size, time]
    return found
def described(path, kind, mode):
    if kind == stat.S_IFLNK: return "link to " + os.readlink(path)
    if kind == stat.S_IFDIR: return "folder"
    if kind != stat.S_IFREG: return "special"
    return "file %o " % mode + hashlib.md5(open(path, "rb").read()).hexdigest()
def changes(top, before):
    after = entries(top)
    found = {path: "removed" for path in before if path not in after}
    for path, entry in after.items():
        if before.get(path) != entry: found[path] = described(top + path, *entry[:2])
    return {path: found[path] for path in sorted(found)}
`;

const lists = new Map<string, string>();

/** Returns the list of a tree as JSON. */
async function listTree(tree: string): Promise<string> {
  const known = lists.get(tree);
  if (known) return known;
  const list = await python(`print(json.dumps(entries(${JSON.stringify(tree)})))`, "");
  lists.set(tree, list);
  return list;
}

async function listChanges(tree: string, before: string): Promise<Record<string, string> | undefined> {
  const code = `import sys\nprint(json.dumps(changes(${JSON.stringify(tree)}, json.load(sys.stdin))))`;
  const list = await python(code, before);
  return list === "" ? undefined : JSON.parse(list);
}

async function python(code: string, stdin: string): Promise<string> {
  const child = new Deno.Command("/usr/bin/python3", {
    args: ["-c", `${LIST_PROGRAM}\n${code}`],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(stdin));
  await writer.close();
  return new TextDecoder().decode((await child.output()).stdout);
}
