import { formatValue } from "./format_value.ts";

/** What a template may name. */
export type TemplateValues = Readonly<Record<string, unknown>>;

/** A text with what is left of it. */
interface Rest {
  readonly text: string;
  readonly at: number;
}

/**
 * Fills a template as Python's `str.format` does: `{name}`, `{name.key}`, `{name[0]}`, `{name!r}`, `{name:>8.2f}`, with
 * `{{` and `}}` for braces. Values are written as Python writes them: `True`, `None`, `['a']`.
 *
 * @throws {SyntaxError} when it names what is not there, or a brace or a format is wrong.
 */
export function formatTemplate(template: string, values: TemplateValues): string {
  let filled = "";
  for (let at = 0; at < template.length;) {
    const brace = template.slice(at).search(/[{}]/);
    if (brace === -1) return filled + template.slice(at);
    filled += template.slice(at, at + brace);
    at += brace;
    const sign = template[at] ?? "";
    if (template[at + 1] === sign) {
      filled += sign;
      at += 2;
      continue;
    }
    if (sign === "}") throw fault(template, at, "a '}' must be written '}}'");
    const field = fieldAt({ text: template, at: at + 1 });
    filled += fieldText(field.text, values);
    at = field.at;
  }
  return filled;
}

function fieldAt({ text, at }: Rest): Rest {
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
  const known = typeof owner === "object" && owner !== null ? Object.keys(owner).toSorted() : [];
  throw new SyntaxError(
    `Cannot fill template as '{${name}}' must name what is there: there is no '${key}', only ${
      known.join(", ") || "nothing"
    }`,
  );
}

function fault(template: string, at: number, what: string): SyntaxError {
  const line = template.slice(0, at).split("\n").length;
  return new SyntaxError(`Cannot fill template as ${what}: see line ${line} of it`);
}
