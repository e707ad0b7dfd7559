import type { Command, IFileSystem } from "just-bash";
import type { ShellFiles } from "../files.ts";
import type { CommandFiles } from "../gnu/command.ts";

const SUBSTITUTION = /\/dev\/fd\/\d+/;

/** Runs a Python program, for which the outputs of `<(…)` among its arguments are files meanwhile. */
export async function runWithFiles(
  argv: readonly string[],
  { files, fs, run }: {
    readonly files: ShellFiles;
    readonly fs: IFileSystem;
    readonly run: (argv: readonly string[]) => ReturnType<Command["execute"]>;
  },
): ReturnType<Command["execute"]> {
  const written: string[] = [];
  const words: string[] = [];
  for (const word of argv) {
    const [path] = SUBSTITUTION.exec(word) ?? [];
    const bytes = path === undefined ? undefined : await fs.readFileBuffer(path).catch(() => undefined);
    if (path === undefined || !bytes) words.push(word);
    else {
      const file = `/tmp/.substitution-${crypto.getRandomValues(new Uint8Array(8)).toHex()}`;
      await files.writeFile(file, bytes);
      written.push(file);
      words.push(word.replace(path, file));
    }
  }
  try {
    return await run(words);
  } finally {
    for (const file of written) await files.rm(file, { force: true });
  }
}

/** A path of a descriptor of the command. */
const DESCRIPTOR = /^\/dev\/(stdin|stdout|stderr)$|^\/(?:dev|proc\/self)\/fd\/(\d+)$/;
const STREAMS: Readonly<Record<string, number>> = { stdin: 0, stdout: 1, stderr: 2 };
/** How the engine writes a descriptor that is a file, and one that is another descriptor. */
const OPENED = /^__file(?:_append)?__:([^]*)$/;
const UPDATED = /^__rw__:(\d+):([^]*)$/;
const COPIED = /^__dup(?:out|in)__:(\d+)$/;
const encoder = new TextEncoder();

/** The streams of a command. */
export interface CommandStreams {
  /** Takes what is left of stdin. */
  readonly takeStdin: () => Uint8Array;
  readonly print: (bytes: Uint8Array) => void;
  readonly printError: (bytes: Uint8Array) => void;
  /** Descriptors above 2, as the engine keeps them. */
  readonly descriptors: ReadonlyMap<number, string> | undefined;
}

/** What reading and writing a path of a descriptor does. */
interface Descriptor {
  readonly read?: () => Uint8Array;
  readonly write?: (bytes: Uint8Array) => void;
}

/**
 * Adds the files among the arguments that are streams of the command: the outputs of `<(…)` and the inputs of `>(…)`,
 * which the engine keeps in a file system of its own, and descriptors, such as `/dev/stdin` and `/dev/fd/3`. `flush`
 * passes on what the command has written to `>(…)`.
 */
export async function withDescriptors(
  files: CommandFiles,
  args: readonly string[],
  { fs, streams }: { readonly fs: IFileSystem; readonly streams: CommandStreams },
): Promise<{ readonly files: CommandFiles; readonly flush: () => Promise<void> }> {
  const found = new Map<string, Descriptor>();
  const written = new Map<string, Uint8Array>();
  for (const word of args) {
    const [path] = SUBSTITUTION.exec(word) ?? DESCRIPTOR.exec(word) ?? [];
    if (path === undefined) continue;
    const [, name, number] = DESCRIPTOR.exec(path) ?? [];
    const descriptor = descriptorOf(name === undefined ? Number(number) : STREAMS[name] ?? 0, files, streams);
    const bytes = descriptor ? undefined : await fs.readFileBuffer(path).catch(() => undefined);
    if (descriptor) found.set(path, descriptor);
    else if (bytes || await fs.exists(path)) {
      found.set(path, {
        ...(bytes && { read: () => bytes }),
        write: (content) => written.set(path, content),
      });
    }
  }
  const flush = async () => {
    for (const [path, bytes] of written) await fs.writeFile(path, bytes);
  };
  if (found.size === 0) return { files, flush };
  const withFound: CommandFiles = {
    ...files,
    read: (path) => found.get(path)?.read?.() ?? files.read(path),
    write: (path, bytes) => (found.get(path)?.write ?? files.write.bind(files, path))(bytes),
    status: (path, options) => {
      if (!found.has(path)) return files.status(path, options);
      const times = { changedMs: Date.now(), accessedMs: Date.now(), statusMs: Date.now() };
      return { kind: "file", mode: 0o600, size: 0, ...times, inode: 0 };
    },
  };
  return { files: withFound, flush };
}

function descriptorOf(number: number, files: CommandFiles, streams: CommandStreams): Descriptor | undefined {
  const value = streams.descriptors?.get(number);
  if (value === undefined) {
    return [{ read: streams.takeStdin }, { write: streams.print }, { write: streams.printError }][number];
  }
  const copied = COPIED.exec(value)?.[1];
  if (copied !== undefined) {
    const isOuterStdin = copied === "0" && number !== 0; // a pipe may have replaced it
    return isOuterStdin || Number(copied) > 2 ? undefined : descriptorOf(Number(copied), files, {
      ...streams,
      descriptors: undefined,
    });
  }
  const [, length = "", rest = ""] = UPDATED.exec(value) ?? [];
  const path = OPENED.exec(value)?.[1] ?? (length === "" ? undefined : rest.slice(0, Number(length)));
  if (path === undefined) return { read: () => encoder.encode(value) };
  return {
    read: () => files.read(path),
    write: (bytes) => files.write(path, bytes), // the path opens the file once more
  };
}
