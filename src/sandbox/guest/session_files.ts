import type { FileSystem, FsNode } from "./emscripten.ts";

const O_RDWR = 2;

/** Files of one session: reads and writes under its home, and its standard streams. */
export class SessionFiles {
  readonly #fs: FileSystem;
  readonly #home: string;

  constructor(fs: FileSystem, home: string) {
    this.#fs = fs;
    this.#home = home;
  }

  /** Writes one file under the home, with the directories above it. Throws on a path that leads out. */
  put(path: string, contents: Uint8Array): void {
    const names = this.#jailed(path);
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

  /** Reads one file under the home. Throws when it is missing, no file, or reached by a link. */
  get(path: string): Uint8Array {
    let at = this.#home;
    for (const step of this.#jailed(path)) {
      at += `/${step}`;
      this.#refuseLink(at);
    }
    const { node } = this.#fs.lookupPath(at, { follow: false });
    if (!this.#fs.isFile(node.mode)) throw new Error(`'${path}' is not a file`);
    return (node.contents as Uint8Array).subarray(0, node.usedBytes);
  }

  /** Opens descriptors 0 to 3 again when the guest has closed them. */
  openStandard(): void {
    STANDARD.forEach((path, fd) => {
      if (!this.#fs.streams[fd]) this.#fs.open(path, O_RDWR);
    });
  }

  #refuseLink(path: string): void {
    let node: FsNode;
    try {
      node = this.#fs.lookupPath(path, { follow: false }).node;
    } catch {
      return; // nothing is there yet
    }
    if (this.#fs.isLink(node.mode)) throw new Error(`'${path}' is a symbolic link`);
  }

  /** The steps of a path under the home. Throws on one that is absolute, climbs, or is odd. */
  #jailed(path: string): string[] {
    const inside = path.startsWith(`${this.#home}/`) ? path.slice(this.#home.length + 1) : path;
    const names = inside.split("/").filter((name) => name !== "" && name !== ".");
    const odd = inside.startsWith("/") || inside.includes("\0") || path.length > 4096 || names.length === 0;
    if (odd || names.includes("..")) throw new Error(`'${path}' is not a path under the working directory`);
    return names;
  }
}

/** The devices behind descriptors 0 to 3. */
export const STANDARD: readonly string[] = ["/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/paddock"];
