/** Values that programs must not see, by the names of the environment variables that a profile names. */
export class SecretValues {
  readonly #values: ReadonlyMap<string, string>;

  constructor(values: Readonly<Record<string, string>>) {
    this.#values = new Map(Object.entries(values));
  }

  /** Returns the value of a variable. */
  get(variable: string): string | undefined {
    return this.#values.get(variable);
  }

  /** Returns nothing, so that JSON of a profile has no value. */
  toJSON(): undefined {
    return undefined;
  }

  [Symbol.for("Deno.customInspect")](): string {
    return "SecretValues {}";
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return "SecretValues {}";
  }
}
