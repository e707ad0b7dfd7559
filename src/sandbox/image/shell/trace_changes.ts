import { findName, replace } from "./replace.ts";

/** Matches the expansion of `PS4`. The groups are the function, the parser's class and the expansion of a word. */
const PROMPT =
  /async function ([\w$]+)\(([\w$]+)\)\{let ([\w$]+)=\2\.state\.env\.get\("PS4"\)[^]{0,200}?new ([\w$]+)(?:\(\))?\.parseWordFromString\(\3,!1,!1\);return await ([\w$]+)\(\2,/g;
/** Matches the functions that write the trace of a command and the trace of an assignment. */
const COMMAND =
  /async function ([\w$]+)\(([\w$]+),([\w$]+),([\w$]+)\)\{if\(!\2\.state\.options\.xtrace\)return"";let ([\w$]+)=await [\w$]+\(\2\),[^{}]*;return`\$\{\5\}\$\{[\w$]+\}\n`\}/g;
const ASSIGNMENT =
  /async function ([\w$]+)\(([\w$]+),([\w$]+),([\w$]+)\)\{return \2\.state\.options\.xtrace\?`\$\{await [\w$]+\(\2\)\}\$\{\3\}=\$\{\4\}\n`:""\}/g;
/** Matches the assignment of a value, up to its trace, which has the whole value in place of what `+=` adds. */
const VALUE =
  /(async function [\w$]+\(([\w$]+),[\w$]+,[\w$]+,([\w$]+),([\w$]+),[\w$]+\)\{let [\w$]+="",([\w$]+)=[\w$]+,[^]{0,1600}?\+=await [\w$]+\(\2,)\5,([\w$]+)\)/g;
/** Matches the assignment of a list, and the assignment of an element. */
const LIST =
  /(let ([\w$]+)=await [\w$]+\(([\w$]+),[\w$]+,[\w$]+,([\w$]+)\.array,\4\.append,[\w$]+\);if\(\2\.error\)return\{[^{}]*\};if\([\w$]+\+=\2\.xtraceOutput)(?=,\2\.continueToNext\))/g;
const ELEMENT =
  /(let ([\w$]+)=await [\w$]+\(([\w$]+),[\w$]+,[\w$]+\[1\],[\w$]+\[2\],([\w$]+),([\w$]+)\.append,[\w$]+\);if\(\2\.error\)return\{continueToNext:!1,xtraceOutput:([\w$]+),[^{}]*\};)(?=if\(\2\.continueToNext\)continue)/g;

/** Matches the setting of a loop's variable. */
const LOOP =
  /(,([\w$]+)\.state\.env\.set\(([\w$]+)\.variable,[\w$]+\);)(?=try\{for\(let ([\w$]+) of \3\.body\)\{let ([\w$]+)=await \2\.executeStatement\(\4\);([\w$]+)\.append\(\5\.stdout)/g;
/** Matches the expressions of `for ((…; …; …))`. */
const ARITHMETIC_LOOP =
  /(let ([\w$]+)=new [\w$]+\(([\w$]+)\),[\w$]+=0,[\w$]+=0;)(([\w$]+)\.init&&[^]{0,700}?)!\((\5\.condition&&)([^]{0,700}?)(\5\.update&&)([^]{0,300}?)(\5\.update&&)/g;
const CASE =
  /(let ([\w$]+)=new [\w$]+\(([\w$]+)\),[\w$]+=0,[\w$]+=await [\w$]+\(\3,([\w$]+)\.word\),[\w$]+=!1;)(?=for\(let [\w$]+=0;[\w$]+<\4\.items\.length)/g;
const ARITHMETIC = /try\{(?=let ([\w$]+)=await [\w$]+\(this\.ctx,([\w$]+)\.expression\.expression\),)/g;
/** Matches the conditions of `[[` with two operands, with one, with `!`, and those that are a word. */
const BINARY =
  /=await [\w$]+\(([\w$]+),([\w$]+)\.right\);(?=if\([\w$]+\(\2\.operator\)\)\{let [\w$]+=\1\.state\.shoptOptions\.nocasematch;return [\w$]+\(\2\.operator,([\w$]+),([\w$]+),!([\w$]+),)/g;
const UNARY = /case"CondUnary":\{let ([\w$]+)=await [\w$]+\(([\w$]+),([\w$]+)\.operand\);/g;
const NEGATED = /(!="":!await [\w$]+\([\w$]+,)([\w$]+\.operand)\)/g;
const WORD = /case"CondWord":return await ([\w$]+)\(([\w$]+),([\w$]+)\.word\)!=="";/g;

/** Code of the functions that call the hook, and of those that keep the trace for the command's stderr. */
const HOOK = (prompt: string, parser: string, expand: string) =>
  `const tracePaddock=async(context,...event)=>context.state.options.xtrace&&context.trace?` +
  `await context.trace(await ${prompt}(context),...event):"";` +
  `const keepTracePaddock=async(context,...event)=>{const text=await tracePaddock(context,...event);` +
  `if(text)context.state.expansionStderr=(context.state.expansionStderr||"")+text};` +
  `const traceArithmeticPaddock=async(context,node)=>{let text=node.source.slice(2,node.source.lastIndexOf("))"));` +
  `if(/[$"]/.test(text)&&!/\\$\\(|\`/.test(text))` +
  `text=await ${expand}(context,new ${parser}().parseWordFromString(text,!1,!1));` +
  `await keepTracePaddock(context,"arithmetic",text)};` +
  "const patternTextPaddock=async(context,{operator,right},isQuoted)=>{const{parts}=right;" +
  'const quoted=parts.map(({type})=>type==="DoubleQuoted"||type==="SingleQuoted");' +
  'if(isQuoted||!/^[!=]?=$/.test(operator)||!quoted.includes(!0)||substitutesOfPaddock(parts))return;let text="";' +
  "for(const[at,part]of parts.entries()){" +
  `const value=part.type==="Literal"?part.value:part.type==="Escaped"?"\\\\"+part.value:part.type==="Glob"?part.pattern:` +
  `await ${expand}(context,{type:"Word",parts:[part]});` +
  'text+=quoted[at]?value.replace(/[^]/gu,"\\\\$&"):value}return text};';

/**
 * Changes the trace of `set -x`. The hook `trace` of an interpreter's context writes each line: it prints the line, or
 * returns the line for the stderr of the command. Loops, `case`, `((…))`, `[[…]]` and arrays are traced too.
 */
export function changeTrace(engine: string): string {
  const [, prompt = "", , , parser = "", expand = ""] = [...engine.matchAll(PROMPT)][0] ?? [];
  const command = replace(
    engine,
    COMMAND,
    'async function $1($2,$3,$4){return tracePaddock($2,"command",[$3,...$4])}',
    1,
  );
  const assignment = replace(
    command,
    ASSIGNMENT,
    'async function $1($2,$3,$4){return tracePaddock($2,"assignment",$3,$4)}',
    1,
  );
  const valued = replace(assignment, VALUE, '$1$4?$5+"+":$5,$4?$3:$6)', 1);
  const listed = replace(valued, LIST, '$1+await tracePaddock($3,"list",$4.source)', 1);
  const elements = replace(
    listed,
    ELEMENT,
    '$1$6+=await tracePaddock($3,"assignment",$5.name+($5.append?"+":""),$4);',
    1,
  );
  const code = HOOK(findName(engine, PROMPT), parser, expand);
  return prompt === "" ? elements : code + traceConditions(traceLoops(elements));
}

function traceLoops(engine: string): string {
  const looped = replace(
    engine,
    LOOP,
    '$1$2.state.options.xtrace&&$6.append("",await tracePaddock($2,"node",$3));',
    1,
  );
  const part = (at: number) =>
    `$3.state.options.xtrace&&$2.append("",await tracePaddock($3,"loop",$5.header,${at}))`;
  const computed = replace(
    looped,
    ARITHMETIC_LOOP,
    `$1${part(0)};$4!(${part(1)},$6$7${part(2)},$8$9${part(2)},$10`,
    1,
  );
  return replace(
    computed,
    CASE,
    '$1$3.state.options.xtrace&&$2.append("",await tracePaddock($3,"node",$4));',
    1,
  );
}

function traceConditions(engine: string): string {
  const computed = replace(
    engine,
    ARITHMETIC,
    "try{this.ctx.state.options.xtrace&&await traceArithmeticPaddock(this.ctx,$2);",
    1,
  );
  const compared = replace(
    computed,
    BINARY,
    '$&$1.state.options.xtrace&&await keepTracePaddock($1,"condition",$2,[$3,await patternTextPaddock($1,$2,$5)??$4],$5);',
    1,
  );
  const tested = replace(
    compared,
    UNARY,
    '$&$2.state.options.xtrace&&await keepTracePaddock($2,"condition",$3,[$1]);',
    1,
  );
  const negated = replace(tested, NEGATED, "$1Object.assign($2,{isNegated:!0}))", 1);
  return replace(
    negated,
    WORD,
    'case"CondWord":{const word=await $1($2,$3.word);' +
      '$2.state.options.xtrace&&await keepTracePaddock($2,"condition",$3,[word]);return word!==""}',
    1,
  );
}
