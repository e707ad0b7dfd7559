import type { ProgramResponse } from "../src/server/adapters/sandbox_fusion/run.ts";
import type { Answered, Connection } from "./connection.ts";

/** A program whose output tells it from every other, and that output. */
export interface OwnProgram {
  readonly code: string;
  readonly stdout: string;
}

/** As a shell would see the end of a process whose interpreter was lost. */
const CRASHED = 134;

/** A small program that no other request has. */
export function ownProgram(number: number): OwnProgram {
  return {
    code: `import math\nprint(${number}, sum(math.isqrt(i + ${number}) for i in range(100)))`,
    stdout: `${number} ${rootSum(number)}\n`,
  };
}

function rootSum(from: number): number {
  let sum = 0;
  for (let i = from; i < from + 100; i++) sum += Math.floor(Math.sqrt(i));
  return sum;
}

/** Runs a program by `/run_code`. */
export async function askCode(connection: Connection, code: string): Promise<Answered<ProgramResponse>> {
  return await connection.post("/run_code", { code, language: "python" });
}

/**
 * Runs a program by `/run_code`.
 *
 * @throws {Error} when anything but its own output comes back.
 */
export async function runCode(connection: Connection, { code, stdout }: OwnProgram): Promise<void> {
  const answer = await askCode(connection, code);
  if (isRight(answer, stdout)) return;
  throw new Error(`Cannot take the answer to '${code}': ${JSON.stringify(answer)}`);
}

/** Whether this is what the program prints, and nothing else. */
export function isRight({ status, body }: Answered<ProgramResponse>, stdout: string): boolean {
  return status === 200 && body?.status === "Success" && body.run_result?.stdout === stdout;
}

/** Whether whoever asked is told that the sandbox, and not their program, failed. */
export function isHonest({ status, body }: Answered<ProgramResponse>): boolean {
  if (status === 503) return true;
  return status === 200 &&
    (body?.status === "SandboxError" ||
      body?.status === "Failed" && body.run_result?.return_code === CRASHED);
}
