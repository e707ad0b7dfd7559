import * as z from "zod";
import { SandboxError } from "../../errors.ts";
import { formatVersion } from "../../format_version.ts";
import { sha256 } from "../../hash.ts";
import { type Exchange, requestKey } from "./broker/exchange.ts";

/** Version of the format of a line of fixtures. */
const FIXTURE_FORMAT = 1;
/** Maximum size of a file of fixtures that is replayed, in bytes. */
const MAX_FILE_BYTES = 48 * 1024 * 1024;

const base64 = z.base64();
const fixtureSchema = z.strictObject({
  format: formatVersion(FIXTURE_FORMAT),
  key: z.string(),
  request: z.strictObject({
    method: z.string(),
    url: z.string(),
    headers: z.record(z.string(), z.string()),
    body: base64.optional(),
  }),
  response: z.strictObject({
    status: z.int().min(200).max(999),
    reason: z.string(),
    headers: z.array(
      z.tuple([z.string().regex(/^[!#$%&'*+.^_`|~0-9a-z-]+$/), z.string().regex(/^[^\r\n\0]*$/)]),
    ),
    body: base64,
  }),
});

/** A recorded exchange, as a line of a file. */
export interface Fixture extends Exchange {
  /** SHA-256 of the parts of the request that count. */
  readonly key: string;
}

/**
 * Reads a file of fixtures.
 *
 * @throws {SandboxError} if a line is not a fixture, or the file is too large.
 */
export async function readFixtures(path: string): Promise<Fixture[]> {
  const { size } = await Deno.stat(path);
  if (size > MAX_FILE_BYTES) {
    throw new SandboxError(
      `Cannot read fixtures '${path}' as they must have at most ${MAX_FILE_BYTES} bytes: there are ${size}`,
    );
  }
  const lines = (await Deno.readTextFile(path)).split("\n");
  return lines.flatMap((line, index) => line.trim() === "" ? [] : [parseLine(line, `${path}:${index + 1}`)]);
}

function parseLine(line: string, place: string): Fixture {
  try {
    const { format: _, ...fixture } = z.parse(fixtureSchema, JSON.parse(line));
    return fixture;
  } catch (cause) {
    const reason = cause instanceof z.core.$ZodError ? z.prettifyError(cause) : "it is not JSON";
    throw new SandboxError(`Cannot read fixture at ${place}: ${reason}`, { cause });
  }
}

/** Returns the line of a fixture, with its newline. */
export function fixtureLine({ key, request, response }: Fixture): string {
  return `${JSON.stringify({ format: FIXTURE_FORMAT, key, request, response })}\n`;
}

/** Returns an exchange with its key. */
export async function toFixture({ request, response }: Exchange): Promise<Fixture> {
  return { key: await sha256(requestKey(request)), request, response };
}

/** Appends exchanges to a file, in their order. */
export class FixtureWriter implements AsyncDisposable {
  readonly #file: Deno.FsFile;
  readonly #onFailure: () => void;
  #writes: Promise<void> = Promise.resolve();
  #hasFailed = false;

  private constructor(file: Deno.FsFile, onFailure: () => void) {
    this.#file = file;
    this.#onFailure = onFailure;
  }

  /**
   * Opens a file, and creates it if there is none. `onFailure` is called once, when an exchange cannot be written.
   *
   * @throws {SandboxError} if the file cannot be written.
   */
  static async open(path: string, onFailure: () => void): Promise<FixtureWriter> {
    try {
      return new FixtureWriter(await Deno.open(path, { append: true, create: true }), onFailure);
    } catch (cause) {
      throw new SandboxError(`Cannot record to '${path}' as the file cannot be written`, { cause });
    }
  }

  /** Appends an exchange. */
  write(exchange: Exchange): void {
    this.#writes = this.#writes.then(async () => {
      const bytes = new TextEncoder().encode(fixtureLine(await toFixture(exchange)));
      for (let done = 0; done < bytes.length;) done += await this.#file.write(bytes.subarray(done));
    }).catch(() => this.#fail());
  }

  /** Waits for all exchanges, and closes the file. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writes;
    this.#file.close();
  }

  #fail(): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#onFailure();
  }
}
