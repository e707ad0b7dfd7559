import { TemplateLimitError } from "./jinja_errors.ts";

/** Most steps of a rendering: iterations, calls, and values that a filter makes. */
const MAX_STEPS = 5_000_000;
/** Most characters that a rendering writes or builds. */
const MAX_CHARACTERS = 1 << 28;
/** Most calls inside each other. Python's limit of 1,000 frames allows some 190 macros. */
const MAX_DEPTH = 190;

/** Texts around the parts that a template marks with `{% generation %}`. */
export interface GenerationMarks {
  readonly start: string;
  readonly end: string;
}

/** The state of a rendering: the text, and the remaining budget. */
export class Run {
  /** Text that has been written to the innermost buffer. */
  out = "";
  #steps = MAX_STEPS;
  #characters = MAX_CHARACTERS;
  #depth = 0;

  constructor(
    readonly options: { readonly marks: GenerationMarks; readonly now: () => Date },
  ) {}

  write(text: string): void {
    this.grow(text.length);
    this.out += text;
  }

  /** Counts steps, before they are taken. */
  step(count = 1): void {
    this.#steps -= count;
    if (this.#steps < 0) throw limitError(`take at most ${MAX_STEPS} steps`);
  }

  /** Counts characters of a text, before the text is made. */
  grow(characters: number): void {
    this.#characters -= characters;
    if (this.#characters < 0) throw limitError(`build at most ${MAX_CHARACTERS} characters`);
  }

  /** Runs a function one level deeper. */
  nest<Result>(call: () => Result): Result {
    if (++this.#depth > MAX_DEPTH) throw limitError(`call at most ${MAX_DEPTH} levels deep`);
    this.step();
    const result = call();
    this.#depth--; // not after an error, which ends the rendering
    return result;
  }

  /** Returns the text that a function writes, and leaves the text out of the output. */
  capture(write: () => void): string {
    const outer = this.out;
    this.out = "";
    write();
    const text = this.out;
    this.out = outer;
    return text;
  }
}

function limitError(rule: string): TemplateLimitError {
  return new TemplateLimitError(`a template must ${rule}`);
}
