/** Values of an evaluation and of the state in a message of MLGym. */
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
 * Matches the text between the first `before` of a line and the last `after`. Later `before`s of the line are not tried:
 * they could not match more, and trying them would take quadratic time.
 */
function between(before: string, after: string): RegExp {
  return new RegExp(`(?<![^\\n])(?:(?!${before})[^\\n])*${before}([^\\n]*)${after}`);
}

/**
 * Parses a message as TorchRL's wrapper of MLGym does. The message may contain text of the policy, so never compute a
 * reward from the result. A score that is not a number is left out.
 */
export class EvaluationOutputParser {
  parse(message: string): EvaluationOutput {
    const texts = matchAll(TEXTS, message);
    const numbers = matchAll(NUMBERS, message)
      .map(([key, text]) => [key, pythonFloat(text)] as const)
      .filter(([, value]) => value !== undefined);
    return Object.fromEntries<unknown>([...texts, ...numbers]);
  }
}

function matchAll(patterns: Readonly<Record<string, RegExp>>, message: string): [string, string][] {
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
