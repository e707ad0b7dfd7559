import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  PythonTypeError,
  TemplateError,
  TemplateLimitError,
  TemplateSyntaxError,
  UndefinedError,
  UnsupportedError,
} from "../../../src/chat/jinja/jinja_errors.ts";
import { Template } from "../../../src/chat/jinja/template.ts";
import { HANG_MS } from "../../deadline.ts";
import { recordedTemplates } from "./recorded.ts";

function render(source: string, variables: Record<string, unknown> = {}): string {
  return new Template(source).render(variables);
}

Deno.test("a template gives the text that transformers recorded, or both refuse", () => {
  const different: unknown[] = [];
  for (const { template, variables = {}, text } of recordedTemplates()) {
    let own: string | null = null;
    let reason: unknown;
    try {
      own = render(template, variables);
    } catch (error) {
      assert(error instanceof TemplateError || error instanceof TemplateSyntaxError, `${template}: ${error}`);
      reason = error;
    }
    if (own !== text && !(reason instanceof UnsupportedError)) {
      different.push({ template, text, own, reason });
    }
  }
  assertEquals(different, []);
});

Deno.test("an error of the source has line and column", () => {
  const cases: [string, number, number, string][] = [
    ["a\n{% nope %}", 2, 4, "the tag 'nope' is unknown"],
    ["{{ 1 }}\r\n\r\n  {{ x | nope }}", 3, 10, "the filter 'nope' is unknown"],
    ["{{ x is nope }}", 1, 9, "the test 'nope' is unknown"],
    ["{{ (1 }}", 1, 7, "'}' closes no bracket"],
    ["{{ 1 + }}", 1, 8, "expected an expression, found '}}'"],
    ["{% if a %}\nb", 2, 2, "expected 'elif' or 'else' or 'endif' for the tag 'if'"],
    ["{{ 'a }}", 1, 4, "found ''', which has no meaning in a tag"],
    ["{# a", 1, 1, "a comment must end with '#}'"],
    ["{% break %}", 1, 4, "the tag 'break' must be inside a loop"],
    ["x{{ s.encode() }}", 1, 6, "the method 'encode' is not supported"],
    ["{{ x | random }}", 1, 8, "the filter 'random' is not supported"],
    ["{% include 'a' %}", 1, 4, "the tag 'include' is not supported"],
    ["{% do x %}", 1, 4, "the tag 'do' is unknown"],
  ];
  for (const [source, line, column, reason] of cases) {
    const error = assertThrows(() => new Template(source), TemplateSyntaxError);
    assertStringIncludes(error.message, `line ${line}, column ${column}: ${reason}`);
    assertEquals([error.line, error.column], [line, column]);
  }
});

Deno.test("what Paddock does not compute is an error, and never another text", () => {
  const sources = [
    "{{ [1] | map('string') }}",
    "{{ 'a'.upper }}",
    "{{ (-8) ** 0.5 }}",
    "{{ range }}",
    "{{ 2 ** 9999999 }}",
  ];
  for (const source of sources) assertThrows(() => render(source), UnsupportedError);
  assertThrows(() => render("{{ lipsum() }}"), TemplateSyntaxError, "'lipsum' is not supported");
});

Deno.test("a template reaches no object of JavaScript", () => {
  const names = [
    "constructor",
    "__proto__",
    "prototype",
    "toString",
    "valueOf",
    "hasOwnProperty",
    "call",
    "apply",
  ];
  for (const name of names) {
    for (
      const value of ["''", "[]", "{}", "1", "1.5", "none", "range", "namespace()", "(1,)", "true", "m", "x"]
    ) {
      const source = "{% macro m() %}{% endmacro %}" +
        `{{ (${value}).${name} is defined }}{{ (${value})['${name}'] is defined }}`;
      assertEquals(render(source, { x: { a: 1 } }), "FalseFalse", `${value}.${name}`);
    }
    assertEquals(
      render(`{{ ${name} is defined }}{{ '${name}' is filter }}{{ '${name}' is test }}`),
      "FalseFalseFalse",
    );
    assertThrows(() => render(`{{ 1 | ${name} }}`), TemplateSyntaxError);
    assertThrows(() => render(`{% ${name} %}`), TemplateSyntaxError);
    assertThrows(() => render(`{{ [1] | map('${name}') | list }}`), TemplateError);
    assertEquals(render(`{{ '{x[${name}]}'.format(x={}) }}`), "");
    assertEquals(render("{{ x }}", { x: JSON.parse(`{"${name}": 1}`) }), `{'${name}': 1}`);
  }
  assertEquals(({} as Record<string, unknown>)["a"], undefined);
});

Deno.test(
  "a template must take a bounded number of steps, characters and levels",
  { timeout: HANG_MS },
  () => {
    const hostile = [
      "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
      "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
      "{% for x in [[1]] recursive %}{{ loop([x]) }}{% endfor %}",
      "{{ 'a' * 9999999999 }}",
      "{{ [0] * 9999999999 }}",
      "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}{{ ns.s }}",
      "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(60) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
      "{% set ns = namespace(s='a') %}{% for i in range(60) %}{% set ns.s = ns.s.replace('a', 'aaaa') %}{% endfor %}",
      "{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l }}",
      "{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l | tojson }}",
      "{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = ns.l + ns.l %}{% endfor %}",
      "{% set ns = namespace(l=[1], m=[1]) %}{% for i in range(40) %}{% set ns.l = [ns.l, ns.l] %}" +
      "{% set ns.m = [ns.m, ns.m] %}{% endfor %}{{ ns.l == ns.m }}",
      "{{ '%999999999999d' % 1 }}",
      "{{ '{:>999999999999}'.format(1) }}",
      "{{ 'a'.center(999999999999) }}",
      "{{ 'a' | indent(999999999999) }}",
      "{{ 'a' | center(999999999999) }}",
      "{{ '1'.zfill(999999999999) }}",
      "{{ '\t'.expandtabs(999999999999) }}",
      "{{ [1] | batch(999999999999, 0) | list }}",
      "{{ [1] | slice(999999999999, 0) | list }}",
      "{{ ('a' * 99999).join(range(99999) | map('string')) | length }}{{ ('a' * 99999).join('b' * 99999) }}",
      "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}",
    ];
    for (const source of hostile) {
      const error = assertThrows(() => render(source), TemplateError);
      assert(error instanceof TemplateLimitError || error instanceof UnsupportedError, `${source}: ${error}`);
    }
    assertThrows(
      () => new Template(`{{ ${"(".repeat(100_000)}1${")".repeat(100_000)} }}`),
      TemplateSyntaxError,
      "nested too deep",
    );
    assertThrows(() => new Template("{% if 1 %}".repeat(100_000)), TemplateSyntaxError);
  },
);

Deno.test("long blanks and long templates take linear time", { timeout: HANG_MS }, () => {
  const blanks = " ".repeat(1_000_000);
  assertEquals(
    render("{{ s.strip() }}{{ s.rstrip('x') | length }}{{ s | trim }}", { s: `a${blanks}b` }),
    `a${blanks}b1000002a${blanks}b`,
  );
  assertEquals(render(`a${blanks}b {%- if 1 -%} ${blanks}c{% endif %}`), `a${blanks}bc`);
  assertEquals(
    render("{{ s.split() | length }}{{ s.rsplit(none, 2) | length }}", { s: "a ".repeat(100_000) }),
    "1000003",
  );
});

Deno.test("numbers of JSON keep their kind and their digits", () => {
  const variables = JSON.parse(
    "[1, 1.0, 50.0, 1e2, 12345678901234567890, 1e-7]",
    (_key, value, context?: { source?: string }) =>
      typeof value === "number"
        ? (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(context?.source ?? "")
        : value,
  );
  assertEquals(
    render("{{ x }}{{ x | tojson }}", { x: variables }),
    "[1, 1.0, 50.0, 100.0, 12345678901234567890, 1e-07]".repeat(2),
  );
  assertEquals(
    render("{{ x }}", { x: [1.5, 2, -0, 1e21, 2 ** 60, NaN, Infinity] }),
    "[1.5, 2, 0, 1e+21, 1152921504606847000, nan, inf]",
  );
});

Deno.test("variables must be data of JSON", () => {
  assertThrows(() => render("{{ f }}", { f: () => 1 }), TypeError, "it must be JSON: found a function");
  assertEquals(
    render("{{ a is defined }}{{ o }}", { a: undefined, o: { b: undefined, c: null } }),
    "False{'c': None}",
  );
  const deep = JSON.parse("[".repeat(5000) + "]".repeat(5000));
  assertThrows(() => render("{{ x }}", { x: deep }), TypeError, "at most 500 levels deep");
});

Deno.test("a generation block is a scope of its own, and its text stands between the marks", () => {
  const template = new Template(
    "{% set x = 1 %}{% generation %}{% set x = 2 %}a{{ x }}\n{% endgeneration %}\nb{{ x }}",
  );
  assertEquals(template.hasGeneration, true);
  assertEquals(template.render({}, { marks: { start: "<", end: ">" } }), "<a2\n>b1");
  assertEquals(template.render({}), "a2\nb1");
  assertEquals(new Template("{# {% generation %} #}").hasGeneration, false);
});

Deno.test("strftime_now() shows the given time as Python's strftime", () => {
  const now = () => new Date(2024, 6, 4, 15, 7, 9);
  const show = (format: string) => new Template("{{ strftime_now(f) }}").render({ f: format }, { now });
  assertEquals(
    show("%Y-%m-%d %H:%M:%S %a %A %b %B %j %y %I %p"),
    "2024-07-04 15:07:09 Thu Thursday Jul July 186 24 03 PM",
  );
  assertEquals(
    show("%-d %-m %e %k|%l %u %w %U %W %V %G %C %D %F %T %R %%"),
    "4 7  4 15| 3 4 4 26 27 27 2024 20 07/04/24 2024-07-04 15:07:09 15:07 %",
  );
  assertThrows(() => show("%E"), UnsupportedError, "the directive '%E' of strftime is not supported");
});

Deno.test("errors of a rendering have the class of their kind", () => {
  assertThrows(() => render("{{ a.b }}"), UndefinedError, "'a' is undefined");
  assertThrows(() => render("{{ 1 + 'a' }}"), PythonTypeError, "'+' must not be between int and str");
  assertThrows(() => render("{{ raise_exception('Only users!') }}"), TemplateError, "Only users!");
});
