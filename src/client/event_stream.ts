import { SandboxError } from "../errors.ts";
import { readLines } from "../read_lines.ts";
import type { ExecOptions, ExecResult } from "../sandbox/exec.ts";
import { outputEventSchema, requestErrorSchema } from "../wire/v1.ts";
import { type BodyChunks, execResponse, MAX_RESPONSE_BYTES, parseResponse } from "./responses.ts";
import { toRefusalError } from "./attempt.ts";

interface ServerEvent {
  readonly name: string;
  readonly data: string;
}

/**
 * Reads server-sent events: the output of a program, and its result as the last event.
 *
 * @throws {SandboxError} if the events end without a result or are invalid.
 */
export async function readOutput(
  action: string,
  body: BodyChunks,
  onOutput: NonNullable<ExecOptions["onOutput"]>,
): Promise<ExecResult> {
  for await (const { name, data } of readEvents(action, body)) {
    if (name === "stdout" || name === "stderr") {
      await onOutput(name, parseResponse(action, data, outputEventSchema).text);
    } else if (name === "result") return parseResponse(action, data, execResponse);
    else if (name === "error") {
      throw toRefusalError(action, {
        status: "no result",
        ...parseResponse(action, data, requestErrorSchema),
      });
    }
  }
  throw new SandboxError(`Cannot ${action} as the server's response ended before the result`);
}

/** Parses server-sent events: lines `event:` and `data:`, and an empty line after each event. */
async function* readEvents(action: string, body: BodyChunks): AsyncGenerator<ServerEvent> {
  let name = "";
  let data: string[] = [];
  let characters = 0;
  for await (const line of readLines(body, { maxBytes: MAX_RESPONSE_BYTES })) {
    if ("fault" in line) throw new SandboxError(`Cannot ${action} as in the server's response ${line.fault}`);
    const [, field, value = ""] = line.text.match(/^(event|data): ?(.*?)\r?$/s) ?? [];
    if (field === "event") name = value;
    else if (field === "data") {
      data.push(value);
      characters += value.length + 1;
      if (characters > MAX_RESPONSE_BYTES) {
        throw new SandboxError(
          `Cannot ${action} as an event of the server must have at most ${MAX_RESPONSE_BYTES} characters: it has more`,
        );
      }
    } else if (line.text === "" || line.text === "\r") {
      if (data.length > 0) yield { name, data: data.join("\n") };
      name = "";
      data = [];
      characters = 0;
    }
  }
}
