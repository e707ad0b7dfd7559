import { SandboxError } from "../errors.ts";
import { readLines } from "../read_lines.ts";
import type { ExecOptions, ExecResult } from "../sandbox/exec.ts";
import { outputEvent, requestError } from "../wire/v1.ts";
import { type AnswerBody, checkedText } from "./answer_body.ts";
import { refusalError } from "./refusal.ts";
import { execResponse } from "./responses.ts";

/** What a program may print stands in its result as well, and that is one line. */
const MAX_LINE_BYTES = 512 * 1024 * 1024;

interface ServerEvent {
  readonly name: string;
  readonly data: string;
}

/**
 * Reads the output of a program as a server tells it in events, and its result, which is the last of them.
 *
 * @throws {SandboxError} when the events end without one, or are none.
 */
export async function readOutput(
  doing: string,
  body: AnswerBody,
  onOutput: NonNullable<ExecOptions["onOutput"]>,
): Promise<ExecResult> {
  for await (const { name, data } of readEvents(doing, body)) {
    if (name === "stdout" || name === "stderr") onOutput(name, checkedText(doing, data, outputEvent).text);
    else if (name === "result") return checkedText(doing, data, execResponse);
    else if (name === "error") {
      throw refusalError(doing, { status: "no result", ...checkedText(doing, data, requestError) });
    }
  }
  throw new SandboxError(`Cannot ${doing} as the server's answer ends before the result`);
}

/** Server-sent events: lines `event:` and `data:`, and an empty one behind each event. */
async function* readEvents(doing: string, body: AnswerBody): AsyncGenerator<ServerEvent> {
  let name = "";
  let data: string[] = [];
  for await (const line of readLines(body, { maxBytes: MAX_LINE_BYTES })) {
    if ("fault" in line) throw new SandboxError(`Cannot ${doing} as in the server's answer ${line.fault}`);
    const [, field, value = ""] = line.text.match(/^(event|data): ?(.*?)\r?$/s) ?? [];
    if (field === "event") name = value;
    else if (field === "data") data.push(value);
    else if (line.text === "" || line.text === "\r") {
      if (data.length > 0) yield { name, data: data.join("\n") };
      name = "";
      data = [];
    }
  }
}
