// The part of instructions.ts that the grader uses. See docs/decisions/hand_written_types.md.
import type { GradedTask } from "../reply_grader.ts";

export function readsLanguage(task: GradedTask): boolean;
export function makeInstructionChecks(task: GradedTask): ((response: string) => boolean)[] | null;
export function loadLanguages(): Promise<void> | undefined;
