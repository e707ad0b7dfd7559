import * as z from "zod";

/** Returns the schema of an object with the named keys and no others. */
export function closedObject<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  const known = Object.keys(shape).join(", ");
  return z.strictObject(shape, {
    error: (issue) => issue.code === "unrecognized_keys" ? `known keys are ${known}` : "must be an object",
  });
}

/** Returns the schema of an integer from `min` to `max`, both included. */
export function integer(min: number, max: number): z.ZodCustom<number, number> {
  return z.custom<number>(
    (value) => Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max,
    { error: `must be an integer from ${min} to ${max}` },
  ).meta({ type: "integer", minimum: min, maximum: max });
}

/** Returns the schema of the given strings. */
export function oneOf<Word extends string>(words: readonly Word[]): z.ZodCustom<Word, Word> {
  return z.custom<Word>((value) => words.some((word) => word === value), {
    error: `must be one of ${words.join(", ")}`,
  }).meta({ enum: [...words] });
}

/** Returns the schema of a string that passes `test`; `needs` describes it in messages. */
export function string(
  needs: string,
  test: (value: string) => boolean = () => true,
): z.ZodCustom<string, string> {
  return z.custom<string>((value) => typeof value === "string" && value.isWellFormed() && test(value), {
    error: `must be ${needs}`,
  }).meta({ type: "string", description: needs });
}

/** Returns the schema of a boolean. */
export function flag(): z.ZodCustom<boolean, boolean> {
  return z.custom<boolean>((value) => typeof value === "boolean", { error: "must be true or false" }).meta({
    type: "boolean",
  });
}

/** Returns a line for each issue of a profile, with its path. */
export function issueLines(error: z.ZodError): string[] {
  return error.issues.flatMap((issue) => {
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => `${pathText([...issue.path, key])} is an unknown key: ${issue.message}`);
    }
    const reason = issue.code === "invalid_key" ? issue.issues[0]?.message ?? issue.message : issue.message;
    return [`${pathText(issue.path)} ${reason}: ${currentText(issue.input)}`];
  });
}

function pathText(path: readonly PropertyKey[]): string {
  if (path.length === 0) return "the profile";
  return path.map((key, index) => {
    if (typeof key === "number") return `[${key}]`;
    const name = String(key);
    if (!/^[A-Za-z_$][\w$]*$/.test(name)) return `[${JSON.stringify(name)}]`;
    return index === 0 ? name : `.${name}`;
  }).join("");
}

function currentText(value: unknown): string {
  if (value === undefined) return "current value is undefined";
  const json = typeof value === "number" ? String(value) : JSON.stringify(value);
  return `current value is ${json.length > 80 ? `${json.slice(0, 80)}…` : json}`;
}
