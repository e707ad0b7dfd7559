import { STDIN } from "./read_text.ts";

/** The path that a file is read by: `-` stands for the standard input. */
export function toInputPath(path: string): string {
  return path === STDIN ? "/dev/stdin" : path;
}
