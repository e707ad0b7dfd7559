import type { Cell, Value } from "./values.ts";

/** Local variables of a call. */
export type Frame = readonly Cell[];

/** A compiled part of a program. `run` returns a promise only if the part may run a command. */
export interface Code<T> {
  readonly isAsync: boolean;
  readonly run: (frame: Frame) => T | Promise<T>;
}

/** A compiled expression. */
export type ValueCode = Code<Value>;

/** Joins parts to a part that runs after them with their values. The joined part waits for parts that run commands. */
export function join<Parts extends unknown[], T>(
  parts: { readonly [K in keyof Parts]: Code<Parts[K]> },
  run: (values: Parts, frame: Frame) => T | Promise<T>,
  { isAsync = false }: { isAsync?: boolean } = {},
): Code<T> {
  if (!isAsync && !parts.some((part) => part.isAsync)) {
    if (parts.length === 1) {
      const [{ run: first }] = parts as unknown as [Code<unknown>];
      return { isAsync: false, run: (frame) => run([first(frame)] as Parts, frame) };
    }
    if (parts.length === 2) {
      const [{ run: first }, { run: second }] = parts as unknown as [Code<unknown>, Code<unknown>];
      return { isAsync: false, run: (frame) => run([first(frame), second(frame)] as Parts, frame) };
    }
    return { isAsync: false, run: (frame) => run(parts.map((part) => part.run(frame)) as Parts, frame) };
  }
  return {
    isAsync: true,
    async run(frame) {
      const values: unknown[] = [];
      for (const part of parts) values.push(await part.run(frame));
      return await run(values as Parts, frame);
    },
  };
}

/** Makes an expression that runs no command. */
export function plain(run: (frame: Frame) => Value): ValueCode {
  return { isAsync: false, run };
}
