import type { ProgramAnswer } from "../server/adapters/sandbox_fusion/program.ts";
import type { Connection } from "./connection.ts";

/** A program whose output tells it from every other, and that output. */
export interface OwnProgram {
  readonly code: string;
  readonly stdout: string;
}

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

/**
 * Runs a program by `/run_code`.
 *
 * @throws {Error} when anything but its own output comes back.
 */
export async function runCode(connection: Connection, { code, stdout }: OwnProgram): Promise<void> {
  const { status, body } = await connection.post<ProgramAnswer>("/run_code", { code, language: "python" });
  if (status === 200 && body?.status === "Success" && body.run_result?.stdout === stdout) return;
  throw new Error(`Cannot take the answer to '${code}': ${status} ${JSON.stringify(body)}`);
}
