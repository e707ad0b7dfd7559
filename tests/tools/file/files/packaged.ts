import { z } from "npm:zod@4.6.7";

export const parameters = z.object({ n: z.number(), times: z.number().default(2) });

export function run({ n, times }: z.output<typeof parameters>): number {
  return n * times;
}
