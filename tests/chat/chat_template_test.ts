import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { ChatFormat } from "../../src/chat/chat_format.ts";
import { JinjaTemplate } from "../../src/chat/chat_template.ts";
import type { Message } from "../../src/message.ts";

const CHAT: Message[] = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "Hi" },
  { role: "assistant", content: "    return 1" },
];

/** Shows parts only: a text has characters, none of which has a type. */
const PARTS = "{% for m in messages %}{{ m.role }}:" +
  "{% for part in m.content %}{% if part.type == 'text' %}{{ part.text }}{% endif %}{% endfor %};{% endfor %}";

Deno.test("JinjaTemplate gives contents as parts to a template that shows nothing of a text", () => {
  const format = new ChatFormat({ chatTemplate: PARTS });
  assertEquals(format.render(CHAT), "system:Be brief.;user:Hi;assistant:    return 1;");
});

Deno.test("JinjaTemplate gives contents as parts to the roles for which a template fails with a text", () => {
  const template = "{% for m in messages %}{% if m.role == 'user' %}{{ m.content[0]['text'].upper() }}" +
    "{% else %}{{ m.content.lower() }}{% endif %}{% endfor %}{# 'text' #}";
  assertEquals(new ChatFormat({ chatTemplate: template }).render(CHAT), "be brief.HI    return 1");
});

Deno.test("JinjaTemplate gives a tool's result as parts, after a call", () => {
  const template = "{% for m in messages %}{% if m.role == 'tool' %}" +
    "{% if messages[loop.index0 - 1].tool_calls %}{{ m.content[0].text }}{% endif %}" +
    "{% elif m.tool_calls %}{{ m.tool_calls[0].function.name }}:" +
    "{% elif m.content is string %}{{ m.content }}{% endif %}{% endfor %}{# 'text' #}";
  const chat: Message[] = [
    { role: "user", content: "q" },
    { role: "assistant", content: "", tool_calls: [{ name: "f", arguments: {} }] },
    { role: "tool", content: "r" },
  ];
  assertEquals(new ChatFormat({ chatTemplate: template }).render(chat), "qf:r");
});

Deno.test("JinjaTemplate gives contents as texts to a template that takes both", () => {
  const template = "{% for m in messages %}{% if m.content is string %}s{{ m.content }}" +
    "{% else %}{% for part in m.content %}{% if part['type'] == 'text' %}p{{ part.text }}{% endif %}{% endfor %}" +
    "{% endif %};{% endfor %}";
  assertEquals(new ChatFormat({ chatTemplate: template }).render(CHAT), "sBe brief.;sHi;s    return 1;");
});

Deno.test("JinjaTemplate leaves contents that are parts or null as they are", () => {
  const template = new JinjaTemplate({ name: "t", source: PARTS });
  const messages = [{ role: "user", content: [{ type: "text", text: "a" }] }, { role: "user", content: [] }];
  assertEquals(template.render({ messages }), "user:a;user:;");
  assertEquals(
    new JinjaTemplate({ name: "t", source: "{{ messages[0].content }}" }).render({
      messages: [{ role: "assistant", content: null }],
    }),
    "None",
  );
});

Deno.test("JinjaTemplate names the template and the place of an error", () => {
  const error = assertThrows(
    () => new JinjaTemplate({ name: "mine", source: "\n{{ x | nope }}" }),
    SyntaxError,
  );
  assertStringIncludes(
    error.message,
    "Cannot use chat template 'mine' as it must be Jinja: line 2, column 8: the filter",
  );
  const template = new JinjaTemplate({
    name: "mine",
    source: "{{ raise_exception('Roles must alternate') }}",
  });
  assertThrows(
    () => template.render({}),
    Error,
    "Cannot render chat as template 'mine' fails: Roles must alternate",
  );
});

Deno.test("a template file with line ends of Windows renders as with those of Unix", () => {
  const unix =
    "{% for m in messages %}\n<{{ m.role }}>\n{{ m.content }}\n{% generation %}\nx\n{% endgeneration %}\n{% endfor %}\n";
  const marks = { start: "[", end: "]" };
  const render = (source: string) =>
    new JinjaTemplate({ name: "t", source }).render({ messages: CHAT }, { marks });
  assertEquals(render(unix.replaceAll("\n", "\r\n")), render(unix));
  assertStringIncludes(render(unix), "<user>\nHi\n[x\n]");
});

Deno.test("a parameter of a tool may have the name of a method", () => {
  const template = "{% for t in tools %}{% for name, schema in t.function.parameters.properties.items() %}" +
    "{{ name }}={{ schema.type | upper }} {% endfor %}{{ t.function.parameters.properties['items'].type }}{% endfor %}";
  const properties = {
    items: { type: ["string", "null"] },
    keys: { type: "x" },
    get: { type: "y" },
    values: { type: "z" },
  };
  const tools = [{ name: "f", description: "", parameters: { type: "object", properties } }];
  const text = new ChatFormat({ chatTemplate: template }).render(CHAT, { tools });
  assertEquals(text, "items=['STRING', 'NULL'] keys=X get=Y values=Z ['string', 'null']");
});

const METHODS = ["items", "keys", "values", "get", "update", "pop", "copy", "setdefault", "clear", "popitem"];

Deno.test("parameters named as methods are shown at each depth, in tools and in calls", () => {
  const nested = (name: string, depth: number): object =>
    depth === 0
      ? { type: "string", description: name }
      : { type: "object", properties: { [name]: nested(name, depth - 1) }, required: [name] };
  const chatTemplate = `
{%- macro schema(s) -%}
  {{- s.type -}}
  {%- if s.properties is defined -%}
    {%- for name, field in s['properties'].items() -%}({{ name }}{{ '!' if name in s.required }}:{{ schema(field) }}){%- endfor -%}
  {%- endif -%}
{%- endmacro -%}
{%- for t in tools or [] -%}<{{ schema(t.function.parameters) }}>{%- endfor -%}
{%- for m in messages -%}
  {{- m.role -}}
  {%- for c in m.tool_calls or [] -%}
    {{- c.function.name -}}{%- for k, v in c.function.arguments.items() -%}[{{ k }}={{ v | tojson }}]{%- endfor -%}
  {%- endfor -%}
  {{- m.content or '' -}}
{%- endfor -%}`;
  for (const name of METHODS) {
    const tools = [{ name, description: "", parameters: nested(name, 3) as Record<string, unknown> }];
    const call = { id: "call00001", name, arguments: { [name]: { [name]: [{ [name]: null }] }, other: 1 } };
    const chat = [{ role: "user", content: "q" }, { role: "assistant", content: "", tool_calls: [call] }];
    for (const args of [call.arguments, JSON.stringify(call.arguments)]) {
      const reply = { role: "assistant", content: "", tool_calls: [{ ...call, arguments: args }] };
      const text = new ChatFormat({ chatTemplate }).render([chat[0] as typeof chat[0], reply], { tools });
      const schema = `<object(${name}!:object(${name}!:object(${name}!:string)))>`;
      const shown = `{"${name}": [{"${name}": null}]}`;
      assertEquals(text, `${schema}userq` + `assistant${name}[${name}=${shown}][other=1]`);
    }
  }
});

Deno.test("a chat keeps the line ends of its contents, whatever line ends the template has", () => {
  const contents = ["a\r\nb", "a\rb\n", "\r\n", "a\u2028b\u0085c\x0bd"];
  const source = "{% for m in messages %}\n<{{ m.role }}>\n{{ m.content }}\n{% endfor %}\nend\n";
  for (const content of contents) {
    for (const end of ["\n", "\r\n", "\r"]) {
      const template = new JinjaTemplate({ name: "t", source: source.replaceAll("\n", end) });
      assertEquals(template.render({ messages: [{ role: "user", content }] }), `<user>\n${content}\nend`);
    }
  }
});
