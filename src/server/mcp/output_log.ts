import type { LoggingLevel, McpServer, ServerContext } from "@modelcontextprotocol/server";

const LEVELS: readonly LoggingLevel[] = [
  ...["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const,
];
/** A program that prints more lines is told no further; its answer has them all the same. */
const MAX_LINES = 10_000;
const LEVEL_OF = { stdout: "info", stderr: "warning" } as const;

type Stream = keyof typeof LEVEL_OF;

/** Tells a client what its programs print, line by line and while they run, once it has said that it listens. */
export class OutputLog {
  #least: number | undefined;

  constructor({ server }: McpServer) {
    server.setRequestHandler("logging/setLevel", ({ params }) => {
      this.#least = LEVELS.indexOf(params.level);
      return {};
    });
  }

  /** Where one program's output goes. */
  begin({ mcpReq }: ServerContext): RunningLog {
    const least = this.#least ?? LEVELS.length;
    return new RunningLog(async (stream, line) => {
      const level = LEVEL_OF[stream];
      const isWanted = mcpReq.envelope !== undefined || LEVELS.indexOf(level) >= least;
      if (isWanted) await mcpReq.log(level, line);
    });
  }
}

/** What one program prints, as lines. */
export class RunningLog {
  readonly #tell: (stream: Stream, line: string) => Promise<void>;
  readonly #rest = { stdout: "", stderr: "" };
  readonly #told: Promise<void>[] = [];

  constructor(tell: (stream: Stream, line: string) => Promise<void>) {
    this.#tell = tell;
  }

  /** Takes a piece of output. */
  write(stream: Stream, text: string): void {
    const [first = "", ...others] = text.split("\n");
    this.#rest[stream] += first;
    for (const next of others) {
      this.#send(stream, this.#rest[stream]);
      this.#rest[stream] = next;
    }
  }

  /** Tells what has no line break behind it, and waits until all has been told. */
  async end(): Promise<void> {
    for (const stream of ["stdout", "stderr"] as const) {
      if (this.#rest[stream] !== "") this.#send(stream, this.#rest[stream]);
    }
    await Promise.all(this.#told);
  }

  #send(stream: Stream, line: string): void {
    if (this.#told.length >= MAX_LINES) return;
    const told = this.#tell(stream, line).catch(() => {}); // who has gone misses nothing
    this.#told.push(told);
  }
}
