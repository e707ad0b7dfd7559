// The part of same_answer.ts that graders use. See docs/decisions/hand_written_types.md.

export function isSameAnswer(given: string, truth: string): boolean;
