import type { FileSystem, FsNode } from "../emscripten.ts";

const O_RDWR = 2;

/** Reads and writes files under a session's home, and opens its standard streams. */
export class HomeFiles {
  readonly #fs: FileSystem;
  readonly #home: string;

  constructor(fs: FileSystem, home: string) {
    this.#fs = fs;
    this.#home = home;
  }

  /** Writes a file under the home and creates its directories. Throws if the path leads outside. */
  put(path: string, contents: Uint8Array): void {
    const names = this.#namesUnderHome(path);
    const name = names.pop() as string;
    let at = this.#home;
    for (const step of names) {
      at += `/${step}`;
      this.#refuseLink(at);
      this.#fs.mkdirTree(at);
    }
    this.#refuseLink(`${at}/${name}`);
    this.#fs.writeFile(`${at}/${name}`, contents);
  }

  /** Reads a file under the home. Throws if it does not exist, is not a file, or is reached through a link. */
  get(path: string): Uint8Array {
    let at = this.#home;
    for (const step of this.#namesUnderHome(path)) {
      at += `/${step}`;
      this.#refuseLink(at);
    }
    const { node } = this.#fs.lookupPath(at, { follow: false });
    if (!this.#fs.isFile(node.mode)) throw new Error(`'${path}' is not a file`);
    return (node.contents as Uint8Array).subarray(0, node.usedBytes);
  }

  /** Reopens the descriptors of 0 to 3 that the guest has closed. */
  openStandard(): void {
    STANDARD_DEVICES.forEach((path, fd) => {
      if (!this.#fs.streams[fd]) this.#fs.open(path, O_RDWR);
    });
  }

  #refuseLink(path: string): void {
    let node: FsNode;
    try {
      node = this.#fs.lookupPath(path, { follow: false }).node;
    } catch {
      return; // the path does not exist yet
    }
    if (this.#fs.isLink(node.mode)) throw new Error(`'${path}' is a symbolic link`);
  }

  /** Returns the names in a path under the home. Throws if it is absolute, contains `..`, or is malformed. */
  #namesUnderHome(path: string): string[] {
    const inside = path.startsWith(`${this.#home}/`) ? path.slice(this.#home.length + 1) : path;
    const names = inside.split("/").filter((name) => name !== "" && name !== ".");
    const isMalformed = inside.startsWith("/") || inside.includes("\0") || path.length > 4096 ||
      names.length === 0;
    if (isMalformed || names.includes("..")) {
      throw new Error(`'${path}' is not a path under the working directory`);
    }
    return names;
  }
}

/** The devices behind descriptors 0 to 3. */
export const STANDARD_DEVICES: readonly string[] = [
  "/dev/stdin",
  "/dev/stdout",
  "/dev/stderr",
  "/dev/paddock",
];
