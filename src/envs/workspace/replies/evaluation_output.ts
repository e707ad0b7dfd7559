/** What MLGym's messages tell of an evaluation and of the state, as far as one does. */
export interface EvaluationOutput {
  readonly submissionArtefactPath?: string;
  readonly baselineScore?: number;
  readonly evaluationScore?: number;
  readonly currentStep?: number;
  readonly remainingSteps?: number;
  readonly openFile?: string;
  readonly currentDirectory?: string;
}

const TEXTS = {
  submissionArtefactPath: between("valid submission artefact at ", "\\."),
  openFile: between("\\(Open file: ", "\\)"),
  currentDirectory: between("\\(Current directory: ", "\\)"),
};

const NUMBERS = {
  baselineScore: between("Baseline Score: \\{'Score': ", "\\}"),
  evaluationScore: between("Evaluation Score: \\{'Score': ", "\\}"),
  currentStep: /\(Current Step: (\d+),/,
  remainingSteps: /Remaining Steps: (\d+)\)/,
};

/**
 * What stands in a line between the first `before` of the line and the last `after`. No other `before` of the same line
 * is tried, which could not be followed by more, so that a line of many takes no longer than another.
 */
function between(before: string, after: string): RegExp {
  return new RegExp(`(?<![^\\n])(?:(?!${before})[^\\n])*${before}([^\\n]*)${after}`);
}

/**
 * Reads a message as TorchRL's wrapper of MLGym does. Whoever writes to the message can write what it reads, so no
 * reward is made of it; a score that is no number is left out.
 */
export class EvaluationOutputParser {
  parse(message: string): EvaluationOutput {
    const texts = found(TEXTS, message);
    const numbers = found(NUMBERS, message)
      .map(([key, text]) => [key, pythonFloat(text)] as const)
      .filter(([, value]) => value !== undefined);
    return Object.fromEntries<unknown>([...texts, ...numbers]);
  }
}

function found(patterns: Readonly<Record<string, RegExp>>, message: string): [string, string][] {
  return Object.entries(patterns).flatMap(([key, pattern]): [string, string][] => {
    const text = pattern.exec(message)?.[1];
    return text === undefined ? [] : [[key, text.trim()]];
  });
}

function pythonFloat(text: string): number | undefined {
  if (/^[-+]?(\d+(_?\d+)*\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text)) return Number(text.replaceAll("_", ""));
  if (/^[-+]?inf(inity)?$/i.test(text)) return text.startsWith("-") ? -Infinity : Infinity;
  return /^[-+]?nan$/i.test(text) ? NaN : undefined;
}
