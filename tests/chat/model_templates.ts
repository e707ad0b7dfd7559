/** Small templates that write turns as the templates of released models do. */

/** gpt-oss: channels, one call in a message, results only after calls, and three tokens that end a message. */
export const HARMONY = `
{%- set last = namespace(name=none) -%}
{%- for m in messages -%}
  {%- if m.role == 'assistant' -%}
    {%- if m.content and '<|channel|>' in m.content -%}{{ raise_exception('channels in a content') }}{%- endif -%}
    {%- if m.tool_calls -%}
      {%- set call = m.tool_calls[0].function -%}
      {%- if m.thinking -%}{{ '<|start|>assistant<|channel|>analysis<|message|>' + m.thinking + '<|end|>' }}{%- endif -%}
      {{- '<|start|>assistant to=functions.' + call.name + '<|channel|>commentary json<|message|>' -}}
      {{- call.arguments | tojson -}}{{- '<|call|>' -}}
      {%- set last.name = call.name -%}
    {%- elif loop.last and not add_generation_prompt -%}
      {%- if m.thinking -%}{{ '<|start|>assistant<|channel|>analysis<|message|>' + m.thinking + '<|end|>' }}{%- endif -%}
      {{- '<|start|>assistant<|channel|>final<|message|>' + m.content + '<|return|>' -}}
    {%- else -%}
      {{- '<|start|>assistant<|channel|>final<|message|>' + m.content + '<|end|>' -}}
      {%- set last.name = none -%}
    {%- endif -%}
  {%- elif m.role == 'tool' -%}
    {%- if last.name is none -%}{{ raise_exception('a result without a call') }}{%- endif -%}
    {{- '<|start|>functions.' + last.name + ' to=assistant<|channel|>commentary<|message|>' -}}
    {{- m.content | tojson -}}{{- '<|end|>' -}}
  {%- else -%}
    {{- '<|start|>' + m.role + '<|message|>' + m.content + '<|end|>' -}}
  {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|start|>assistant' -}}{%- endif -%}`;

/** Gemma 4: results stand in the turn of the call, and only after native calls. */
export const GEMMA = `
{%- macro value(v) -%}{%- if v is string -%}{{- '<|"|>' + v + '<|"|>' -}}{%- else -%}{{- v | tojson -}}{%- endif -%}{%- endmacro -%}
{%- set ns = namespace(open=false) -%}
{%- for m in messages -%}
  {%- if m.role == 'tool' -%}
  {%- else -%}
    {%- if not (ns.open and m.role == 'assistant') -%}
      {{- '<|turn>' + ('model' if m.role == 'assistant' else m.role) + '\\n' -}}
    {%- endif -%}
    {%- set ns.open = false -%}
    {%- if m.tool_calls -%}
      {%- for c in m.tool_calls -%}
        {{- '<|tool_call>call:' + c.function.name + '{' -}}
        {%- for k, v in c.function.arguments.items() -%}
          {%- if not loop.first -%}{{- ',' -}}{%- endif -%}{{- k + ':' -}}{{- value(v) -}}
        {%- endfor -%}
        {{- '}<tool_call|>' -}}
      {%- endfor -%}
      {{- '<|tool_response>' -}}
      {%- if not loop.last and messages[loop.index0 + 1].role == 'tool' -%}
        {{- 'response:' + m.tool_calls[0].function.name + '{value:' -}}{{- value(messages[loop.index0 + 1].content) -}}
        {{- '}<tool_response|>' -}}
        {%- set ns.open = true -%}
      {%- endif -%}
    {%- endif -%}
    {{- m.content -}}
    {%- if not m.tool_calls -%}{{- '<turn|>\\n' -}}{%- endif -%}
  {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt and not ns.open -%}{{- '<|turn>model\\n' -}}{%- endif -%}`;

/** Nemotron 3: the prompt opens a thought, a reply without one has an empty one, and earlier thoughts are dropped. */
export const NEMOTRON = `
{%- set ns = namespace(last=-1) -%}
{%- for m in messages -%}{%- if m.role == 'user' -%}{%- set ns.last = loop.index0 -%}{%- endif -%}{%- endfor -%}
{%- for m in messages -%}
  {{- '<|im_start|>' + m.role + '\\n' -}}
  {%- set content = m.content -%}
  {%- if m.role == 'assistant' -%}
    {%- if '<think>' not in content and '</think>' not in content -%}
      {%- set content = '<think></think>' + content -%}
    {%- elif loop.index0 < ns.last and '<think>' in content and '</think>' in content -%}
      {%- set content = '<think></think>' + content.split('</think>')[-1] -%}
    {%- endif -%}
  {%- endif -%}
  {{- content + '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n<think>\\n' -}}{%- endif -%}`;

/** Phi 3: a whole chat ends with the end-of-text token. */
export const PHI =
  "{%- for m in messages -%}{{- '<|' + m.role + '|>\\n' + m.content + '<|end|>\\n' -}}{%- endfor -%}" +
  "{%- if add_generation_prompt -%}{{- '<|assistant|>\\n' -}}{%- else -%}{{- eos_token -}}{%- endif -%}";

/** GLM 4: the token of the next speaker ends a turn. */
export const GLM = `
{%- for m in messages -%}
  {%- if m.role == 'assistant' -%}{{- '<|assistant|>\\n<think></think>\\n' + m.content.split('</think>')[-1].strip() -}}
  {%- elif m.role == 'tool' -%}{{- '<|observation|>\\n' + m.content -}}
  {%- else -%}{{- '<|' + m.role + '|>\\n' + m.content -}}
  {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}`;

/** Llama 3.1: a header for each message; the model may also end a message with \`<|eom_id|>\`. */
export const LLAMA3 =
  "{%- for m in messages -%}{{- '<|start_header_id|>' + m.role + '<|end_header_id|>\\n\\n' + m.content -}}" +
  "{{- '<|eom_id|>' if builtin_tools and loop.last else '<|eot_id|>' -}}{%- endfor -%}" +
  "{%- if add_generation_prompt -%}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}{%- endif -%}";

/** Kimi K2: results name the ids of calls, in their order. */
export const KIMI = `
{%- set queue = namespace(ids=[]) -%}
{%- for m in messages -%}
  {{- '<|im_' + m.role + '|>' + m.role + '<|im_middle|>' -}}
  {%- if m.role == 'tool' -%}
    {{- '## Return of ' + (queue.ids[0] if queue.ids else 'functions.' + m.name + ':0') + '\\n' -}}
    {%- set queue.ids = queue.ids[1:] -%}
  {%- endif -%}
  {{- m.content if m.content is string else '' -}}
  {%- if m.tool_calls -%}
    {{- '<|tool_calls_section_begin|>' -}}
    {%- for c in m.tool_calls -%}
      {%- set queue.ids = queue.ids + [c.id] -%}
      {{- '<|tool_call_begin|>' + c.id + '<|tool_call_argument_begin|>' -}}
      {{- c.function.arguments | tojson -}}{{- '<|tool_call_end|>' -}}
    {%- endfor -%}
    {{- '<|tool_calls_section_end|>' -}}
  {%- endif -%}
  {{- '<|im_end|>' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_assistant|>assistant<|im_middle|>' -}}{%- endif -%}`;

/** MiniMax M2: values as text, and results only after native calls. */
export const MINIMAX = `
{%- set last = namespace(name=none) -%}
{%- for m in messages -%}
  {%- if m.role == 'tool' -%}
    {%- if last.name is none -%}{{ raise_exception('a result without a call') }}{%- endif -%}
    {%- if messages[loop.index0 - 1].role != 'tool' -%}{{- ']~b]tool' -}}{%- endif -%}
    {{- '\\n<response>' + m.content + '</response>' -}}
    {%- if loop.last or messages[loop.index0 + 1].role != 'tool' -%}{{- '[e~[\\n' -}}{%- endif -%}
  {%- else -%}
    {{- ']~b]' + ('ai' if m.role == 'assistant' else m.role) + '\\n' + m.content -}}
    {%- set last.name = none -%}
    {%- if m.tool_calls -%}
      {{- '\\n<minimax:tool_call>\\n' -}}
      {%- for c in m.tool_calls -%}
        {{- '<invoke name="' + c.function.name + '">\\n' -}}
        {%- for k, v in c.function.arguments.items() -%}
          {{- '<parameter name="' + k + '">' -}}{{- v if v is string else v | tojson -}}{{- '</parameter>\\n' -}}
        {%- endfor -%}
        {{- '</invoke>\\n' -}}
        {%- set last.name = c.function.name -%}
      {%- endfor -%}
      {{- '</minimax:tool_call>' -}}
    {%- endif -%}
    {{- '[e~[\\n' -}}
  {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- ']~b]ai\\n' -}}{%- endif -%}`;

/** MiniMax M3: arguments as elements, and results only after native calls. */
export const MINIMAX_M3 = `
{%- set mark = ']<]minimax[>[' -%}
{%- macro element(name, value) -%}
  {{- mark + '<' + name + '>' -}}
  {%- if value is mapping -%}
    {%- for k, v in value.items() -%}{{- element(k, v) -}}{%- endfor -%}
  {%- elif value is string or value is number -%}
    {{- value -}}
  {%- else -%}
    {%- for v in value -%}{{- element('item', v) -}}{%- endfor -%}
  {%- endif -%}
  {{- mark + '</' + name + '>' -}}
{%- endmacro -%}
{%- for m in messages -%}
  {%- if m.role == 'tool' -%}
    {%- if not messages[loop.index0 - 1].tool_calls -%}{{ raise_exception('a result without a call') }}{%- endif -%}
    {{- ']~b]tool\\n<response>' + m.content + '</response>[e~[\\n' -}}
  {%- else -%}
    {{- ']~b]' + ('ai' if m.role == 'assistant' else m.role) + '\\n' + m.content -}}
    {%- if m.tool_calls -%}
      {{- mark + '<tool_call>\\n' -}}
      {%- for c in m.tool_calls -%}
        {{- mark + '<invoke name="' + c.function.name + '">' -}}
        {%- for k, v in c.function.arguments.items() -%}{{- element(k, v) -}}{%- endfor -%}
        {{- mark + '</invoke>\\n' -}}
      {%- endfor -%}
      {{- mark + '</tool_call>' -}}
    {%- endif -%}
    {{- '[e~[\\n' -}}
  {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- ']~b]ai\\n' -}}{%- endif -%}`;
