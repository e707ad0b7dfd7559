/** Test files that run in one realm, one after the other. */
export interface TestGroup {
  readonly name: string;
  /** Paths relative to the root of the tests. */
  readonly files: readonly string[];
}

/** Maximum number of files in a group that shares nothing, so that groups can run side by side. */
const MAX_FILES = 20;

/** Calls that apply to all tests of a realm, and not only to those of their file. */
const CHANGES_ALL = /\bDeno\.test\.(?:sanitizer|beforeAll|afterAll|beforeEach|afterEach)\(/;

/** Snapshots are looked up beside the file that is run. */
const HAS_SNAPSHOTS = /\bassertSnapshot\b/;

/**
 * Puts test files together, as each realm loads Paddock again, which takes longer than most tests. Files that import
 * the same helper with `Deno.test.sanitizer` share what it shares, such as a sandbox. A file with such a call or with
 * snapshots, and each file of attacks, has its own realm.
 */
export async function groupTests(root: URL, isChosen: (path: string) => boolean): Promise<TestGroup[]> {
  const files = (await listTests(root)).filter(isChosen);
  const groups = new Map<string, string[]>();
  for (const file of files) {
    const group = groups.getOrInsertComputed(await realmOf(file, root), () => []);
    group.push(file);
  }
  return [...groups].flatMap(([name, files]) => splitGroup(name, files));
}

/** Returns the paths of all test files, in order. */
async function listTests(root: URL, folder = ""): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(new URL(folder, root))) {
    if (isDirectory) found.push(...await listTests(root, `${folder}${name}/`));
    else if (name.endsWith("_test.ts")) found.push(folder + name);
  }
  return found.sort();
}

/** Returns the name of the realm in which a file runs. */
async function realmOf(file: string, root: URL): Promise<string> {
  const source = await Deno.readTextFile(new URL(file, root));
  const helper = await findSharedHelper(source, { file, root });
  if (helper !== undefined) return nameOf(helper);
  if (file.startsWith("escape/") || CHANGES_ALL.test(source) || HAS_SNAPSHOTS.test(source)) {
    return nameOf(file);
  }
  return file.endsWith("_sandbox_test.ts") ? "sandbox" : "unit";
}

/** Returns the first module that changes how tests run, among those that a file of the tests imports. */
async function findSharedHelper(
  source: string,
  { file, root }: { file: string; root: URL },
): Promise<string | undefined> {
  for (const [, path = ""] of source.matchAll(/^(?:import .*|}) from "(\.[^"]*\.ts)";$/gm)) {
    const url = new URL(path, new URL(file, root));
    if (!url.href.startsWith(root.href)) continue;
    const helper = url.href.slice(root.href.length);
    const code = await Deno.readTextFile(url);
    if (CHANGES_ALL.test(code)) return helper;
    const inner = await findSharedHelper(code, { file: helper, root });
    if (inner !== undefined) return inner;
  }
  return undefined;
}

function nameOf(path: string): string {
  return path.replace(/\.ts$/, "").replaceAll("/", ".");
}

function splitGroup(name: string, files: readonly string[]): TestGroup[] {
  if (name !== "unit" && name !== "sandbox") return [{ name, files }];
  const count = Math.ceil(files.length / MAX_FILES);
  const groups = Array.from({ length: count }, (_, index) => ({
    name: `${name}.${index + 1}`,
    files: files.filter((_, place) => place % count === index),
  }));
  return groups;
}
