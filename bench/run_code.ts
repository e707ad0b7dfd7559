import type { ProgramResponse } from "../src/server/peers/sandbox_fusion/contract.ts";
import type { Answered, Connection } from "./connection.ts";

/** A program with a unique output, and that output. */
export interface OwnProgram {
  readonly code: string;
  readonly stdout: string;
}

/** Return code of a process whose interpreter was lost, as a shell reports it. */
const CRASHED = 134;

/** Returns a small program that is unique to a request. */
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

/** Runs a program by `/run_code` and returns the response. */
export async function askCode(connection: Connection, code: string): Promise<Answered<ProgramResponse>> {
  return await connection.post("/run_code", { code, language: "python" });
}

/**
 * Runs a program by `/run_code` and checks its output.
 *
 * @throws {Error} when the response has another output.
 */
export async function runCode(connection: Connection, { code, stdout }: OwnProgram): Promise<void> {
  const response = await askCode(connection, code);
  if (isRight(response, stdout)) return;
  throw new Error(
    `Cannot accept the response to '${code}' as its output must be ${JSON.stringify(stdout)}: response is ${
      JSON.stringify(response)
    }`,
  );
}

/** True if the response holds exactly the output of the program. */
export function isRight({ status, body }: Answered<ProgramResponse>, stdout: string): boolean {
  return status === 200 && body?.status === "Success" && body.run_result?.stdout === stdout;
}

/** True if the response reports that the sandbox failed, rather than the program. */
export function isHonest({ status, body }: Answered<ProgramResponse>): boolean {
  if (status === 503) return true;
  return status === 200 &&
    (body?.status === "SandboxError" ||
      body?.status === "Failed" && body.run_result?.return_code === CRASHED);
}
