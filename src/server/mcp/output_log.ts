import type { LoggingLevel, McpServer, ServerContext } from "@modelcontextprotocol/server";

const LEVELS: readonly LoggingLevel[] = [
  ...["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const,
];
/** Maximum number of log messages per program; the result still contains all output. */
const MAX_LINES = 10_000;
const LEVEL_OF = { stdout: "info", stderr: "warning" } as const;

type Stream = keyof typeof LEVEL_OF;

/** Sends the output of programs to the client as log messages, line by line, once the client has set a log level. */
export class OutputLog {
  #minLevel: number | undefined;

  constructor({ server }: McpServer) {
    server.setRequestHandler("logging/setLevel", ({ params }) => {
      this.#minLevel = LEVELS.indexOf(params.level);
      return {};
    });
  }

  /** Starts the log of a program. */
  begin({ mcpReq }: ServerContext): RunningLog {
    const minLevel = this.#minLevel ?? LEVELS.length;
    return new RunningLog(async (stream, line) => {
      const level = LEVEL_OF[stream];
      const isWanted = mcpReq.envelope !== undefined || LEVELS.indexOf(level) >= minLevel;
      if (isWanted) await mcpReq.log(level, line);
    });
  }
}

/** Log of a program. */
export class RunningLog {
  readonly #sendLine: (stream: Stream, line: string) => Promise<void>;
  readonly #partialLine = { stdout: "", stderr: "" };
  readonly #sent: Promise<void>[] = [];

  constructor(sendLine: (stream: Stream, line: string) => Promise<void>) {
    this.#sendLine = sendLine;
  }

  /** Adds output. */
  write(stream: Stream, text: string): void {
    const [first = "", ...others] = text.split("\n");
    this.#partialLine[stream] += first;
    for (const next of others) {
      this.#send(stream, this.#partialLine[stream]);
      this.#partialLine[stream] = next;
    }
  }

  /** Sends the last incomplete lines and waits until all messages are sent. */
  async end(): Promise<void> {
    for (const stream of ["stdout", "stderr"] as const) {
      if (this.#partialLine[stream] !== "") this.#send(stream, this.#partialLine[stream]);
    }
    await Promise.all(this.#sent);
  }

  #send(stream: Stream, line: string): void {
    if (this.#sent.length >= MAX_LINES) return;
    const sent = this.#sendLine(stream, line).catch(() => {}); // the client has disconnected
    this.#sent.push(sent);
  }
}
