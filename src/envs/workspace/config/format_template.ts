import { formatValue } from "./format_value.ts";

/** Values that a template can use, by name. */
export type TemplateValues = Readonly<Record<string, unknown>>;

/** Text and a position in it. */
interface Position {
  readonly text: string;
  readonly at: number;
}

/**
 * Fills a template as Python's `str.format` does: `{name}`, `{name.key}`, `{name[0]}`, `{name!r}`, `{name:>8.2f}`,
 * and `{{` and `}}` for braces. Values are formatted as in Python: `True`, `None`, `['a']`.
 *
 * @throws {SyntaxError} if a name is unknown, or a brace or a format is invalid.
 */
export function formatTemplate(template: string, values: TemplateValues): string {
  let filled = "";
  for (let at = 0; at < template.length;) {
    const brace = template.slice(at).search(/[{}]/);
    if (brace === -1) return filled + template.slice(at);
    filled += template.slice(at, at + brace);
    at += brace;
    const char = template[at] ?? "";
    if (template[at + 1] === char) {
      filled += char;
      at += 2;
      continue;
    }
    if (char === "}") throw fault(template, at, "a '}' must be written '}}'");
    const field = fieldAt({ text: template, at: at + 1 });
    filled += fieldText(field.text, values);
    at = field.at;
  }
  return filled;
}

function fieldAt({ text, at }: Position): Position {
  const end = text.slice(at).search(/[{}]/);
  if (end === -1) throw fault(text, at - 1, "a '{' must be written '{{', or closed");
  if (text[at + end] === "{") throw fault(text, at + end, "a field must hold no other");
  return { text: text.slice(at, at + end), at: at + end + 1 };
}

function fieldText(field: string, values: TemplateValues): string {
  const parts = /^([^!:]*)(?:!([^:]*))?(?::([\s\S]*))?$/.exec(field);
  const [, name = "", conversion, spec = ""] = parts ?? [];
  if (conversion !== undefined && !/^[rsa]$/.test(conversion)) {
    throw new SyntaxError(`Cannot fill template as the conversion in '{${field}}' must be one of !r, !s, !a`);
  }
  return formatValue(valueOf(name, values), { field, spec, conversion });
}

function valueOf(name: string, values: TemplateValues): unknown {
  const [, first = "", rest = ""] = /^([^.[]*)([\s\S]*)$/.exec(name) ?? [];
  let value = member(values, first, name);
  let at = 0;
  for (const step of rest.matchAll(/\.([^.[]+)|\[([^\]]+)\]/gy)) {
    value = member(value, step[1] ?? step[2] ?? "", name);
    at += step[0].length;
  }
  if (at === rest.length) return value;
  throw new SyntaxError(
    `Cannot fill template as '{${name}}' must be a name, with '.key' or '[key]' behind it`,
  );
}

function member(owner: unknown, key: string, name: string): unknown {
  if (typeof owner === "object" && owner !== null && Object.hasOwn(owner, key)) {
    return (owner as Record<string, unknown>)[key];
  }
  const keys = typeof owner === "object" && owner !== null ? Object.keys(owner).toSorted() : [];
  throw new SyntaxError(
    `Cannot fill template as '{${name}}' must name a known value: there is no '${key}', only ${
      keys.join(", ") || "nothing"
    }`,
  );
}

function fault(template: string, at: number, reason: string): SyntaxError {
  const line = template.slice(0, at).split("\n").length;
  return new SyntaxError(`Cannot fill template as ${reason}: see line ${line} of it`);
}
