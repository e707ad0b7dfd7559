import { join } from "node:path";
import type { MimeBundle } from "../../sandbox/contract/exec.ts";
import { UnwrittenError } from "../cli_errors.ts";
import { ioErrorText } from "../input.ts";
import type { Io } from "../io.ts";
import { toSinkText } from "../output.ts";

/** File name extensions of MIME types. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  "application/javascript": "js",
  "application/json": "json",
  "application/pdf": "pdf",
  "image/gif": "gif",
  "image/jpeg": "jpg",
  "image/png": "png",
  "image/svg+xml": "svg",
  "image/webp": "webp",
  "text/html": "html",
  "text/latex": "tex",
  "text/markdown": "md",
};
const IS_BINARY = /^(?:image\/(?!svg)|audio\/|video\/|application\/pdf$)/;

/** Returns the text that shows an object on stdout: an image where the terminal can show images, otherwise the text. */
export function formatShown(bundle: MimeBundle, { stdout, env }: Pick<Io, "stdout" | "env">): string {
  const png = bundle["image/png"];
  if (typeof png === "string" && stdout.isTerminal()) {
    const image = inlineImage(png.replaceAll("\n", ""), env);
    if (image !== undefined) return `${image}\n`;
  }
  const text = bundle["text/plain"];
  return typeof text === "string" ? `${toSinkText(stdout, text)}\n` : "";
}

/** Matches the pieces of an image for Kitty, which have at most 4,096 characters. */
const KITTY_PIECE = /.{1,4096}/g;

/** Returns the escape sequences that show a PNG, or `undefined` if the terminal is not known to show images. */
function inlineImage(base64: string, env: Io["env"]): string | undefined {
  if (env.get("TMUX")) return undefined; // the multiplexer does not pass images on
  const program = env.get("TERM_PROGRAM") ?? "";
  if (program === "iTerm.app" || program === "WezTerm") return `\x1b]1337;File=inline=1:${base64}\x07`;
  const isKitty = env.get("KITTY_WINDOW_ID") || env.get("TERM") === "xterm-kitty" || program === "ghostty";
  if (!isKitty) return undefined;
  const pieces = base64.match(KITTY_PIECE) ?? [];
  return pieces.map((piece, index) => {
    const keys = `${index === 0 ? "a=T,f=100," : ""}m=${index === pieces.length - 1 ? 0 : 1}`;
    return `\x1b_G${keys};${piece}\x1b\\`;
  }).join("");
}

/** Saves the forms of objects as files of a folder: `001.png`, `001.html`, `002.svg` and so on. */
export class ShownFiles {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Creates a missing folder.
   *
   * @throws {UnwrittenError} if the creation fails.
   */
  static async open(folder: string): Promise<ShownFiles> {
    try {
      await Deno.mkdir(folder, { recursive: true });
    } catch (cause) {
      throw new UnwrittenError(`Cannot write to '${folder}': ${ioErrorText(cause)}`, { cause });
    }
    return new ShownFiles(folder);
  }

  /**
   * Writes the files of a program, except plain text. Returns their paths.
   *
   * @throws {UnwrittenError} if a file cannot be written.
   */
  async save(display: readonly MimeBundle[]): Promise<string[]> {
    const paths: string[] = [];
    for (const [index, bundle] of display.entries()) {
      for (const [type, data] of Object.entries(bundle)) {
        if (type === "text/plain") continue;
        const extension = EXTENSIONS[type] ?? (IS_BINARY.test(type) ? "bin" : "txt");
        const path = join(this.#folder, `${String(index + 1).padStart(3, "0")}.${extension}`);
        try {
          await Deno.writeFile(path, contentsOf(type, data));
        } catch (cause) {
          throw new UnwrittenError(`Cannot write '${path}': ${ioErrorText(cause)}`, { cause });
        }
        paths.push(path);
      }
    }
    return paths;
  }
}

function contentsOf(type: string, data: MimeBundle[string]): Uint8Array {
  if (typeof data === "string" && IS_BINARY.test(type)) {
    return Uint8Array.fromBase64(data.replaceAll("\n", ""));
  }
  return new TextEncoder().encode(typeof data === "string" ? data : JSON.stringify(data));
}
