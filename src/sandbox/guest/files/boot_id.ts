import type { FileSystem, FsNode } from "../emscripten.ts";

const FOLDER = "/proc/sys/kernel/random";
const FILE = `${FOLDER}/boot_id`;
const [FOLDER_MODE, FILE_MODE] = [0o555, 0o444];
/** Bits of a UUID of version 4, by byte. */
const [VERSION_BYTE, VARIANT_BYTE] = [6, 8];

/**
 * Linux's file with the id of the machine's start, by which programs recognize that memory was lost. It is one of the
 * session's files: a checkpoint has it.
 */
export class BootId {
  readonly #fs: FileSystem;

  /** Adds the file, which is empty until {@linkcode BootId.renew}. */
  constructor(fs: FileSystem) {
    this.#fs = fs;
    fs.mkdirTree(FOLDER);
    fs.writeFile(FILE, new Uint8Array(0));
    fs.chmod(FILE, FILE_MODE);
    fs.chmod(FOLDER, FOLDER_MODE);
  }

  /** Sets the id that 16 random bytes give. Does nothing if a program has replaced the file. */
  renew(random: Uint8Array): void {
    const node = this.#find();
    if (!node || !this.#fs.isFile(node.mode) || node.mount !== this.#fs.root.mount) return;
    node.contents = new TextEncoder().encode(`${toUuid(random)}\n`);
    node.usedBytes = node.contents.length;
  }

  #find(): FsNode | undefined {
    try {
      return this.#fs.lookupPath(FILE, { follow: false }).node;
    } catch {
      return undefined; // a program has removed it
    }
  }
}

function toUuid(random: Uint8Array): string {
  const bytes = random.slice();
  bytes[VERSION_BYTE] = (bytes[VERSION_BYTE] ?? 0) & 0x0f | 0x40;
  bytes[VARIANT_BYTE] = (bytes[VARIANT_BYTE] ?? 0) & 0x3f | 0x80;
  return bytes.toHex().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
