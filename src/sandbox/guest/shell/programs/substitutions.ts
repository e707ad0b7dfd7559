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

const STDIN = /^\/dev\/(?:stdin|fd\/0)$|^\/proc\/self\/fd\/0$/;

/**
 * Adds the files among the arguments that are streams of the command: the outputs of `<(…)`, which the engine keeps in a
 * file system of its own, and stdin.
 */
export async function withSubstitutions(
  files: CommandFiles,
  args: readonly string[],
  { fs, stdin }: { readonly fs: IFileSystem; readonly stdin: () => Uint8Array },
): Promise<CommandFiles> {
  const inputs = args.filter((word) => STDIN.test(word));
  const paths = args.flatMap((word) => STDIN.test(word) ? [] : SUBSTITUTION.exec(word) ?? []);
  if (paths.length === 0 && inputs.length === 0) return files;
  const outputs = new Map<string, Uint8Array>();
  for (const path of inputs) outputs.set(path, stdin());
  for (const path of paths) {
    const bytes = await fs.readFileBuffer(path).catch(() => undefined);
    if (bytes) outputs.set(path, bytes);
  }
  return {
    ...files,
    read: (path) => outputs.get(path) ?? files.read(path),
    status: (path, options) => {
      const bytes = outputs.get(path);
      if (!bytes) return files.status(path, options);
      const times = { changedMs: Date.now(), accessedMs: Date.now(), statusMs: Date.now() };
      return { kind: "file", mode: 0o600, size: bytes.length, ...times, inode: 0 };
    },
  };
}
