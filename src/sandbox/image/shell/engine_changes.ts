import { changeAliases } from "./alias_changes.ts";
import { changeArithmetic } from "./arithmetic_changes.ts";
import { changeArrays } from "./array_changes.ts";
import { changeErrors } from "./error_changes.ts";
import { changeExpansions } from "./expansion_changes.ts";
import { changeIntegers } from "./integer_changes.ts";
import { changePatterns } from "./glob_changes.ts";
import { changeParser } from "./parser_changes.ts";
import { findName, replace } from "./replace.ts";
import { changeStreams } from "./stream_changes.ts";
import { changeTrace } from "./trace_changes.ts";

/** Matches the place where the engine starts a script. `$3` is the state that the script changes. */
const START = /await new ([\w$]+)\(([\w$]+),([\w$]+)\)\.executeScript\(/g;
/**
 * Replacement that passes interpreter and state to the guest: state is kept for the next script and output is
 * streamed.
 */
const SHOWN_START = "await this.onStart(new $1($2,$3),$3).executeScript(";

/** Matches the function by which the engine decodes output bytes as text. */
const TO_TEXT = /\.stdout=([\w$]+)\([\w$]+\.stdout\),/;
/** Matches the places where `read` and `mapfile` have a line, as one character for each byte. */
const LINE_READ = /(===`\n`&&([\w$]+)\.endsWith\(`\n`\)&&\(\2=\2\.slice\(0,-1\)\);)(?=let )/g;
const LINE_MAPPED =
  /(`mapfile: string length limit exceeded [^`]*`,"string_length"\);[\w$]+\.push\()([\w$]+)(?=\))/g;

/** Matches the use of a command's path that was found before, which holds until `PATH` changes. */
const HASHED =
  /if\(!([\w$]+)&&([\w$]+)\.state\.hashTable\)\{(?=let [\w$]+=\2\.state\.hashTable\.get\(([\w$]+)\))/g;
/** Code that finds those builtins which are commands of the engine, without `PATH`. */
const FIND_BUILTIN = "if(/^(?:echo|printf|pwd|umask)$$/.test($3)&&!$2.state.disabledBuiltins?.has($3)&&" +
  '$2.commands.has($3))return{cmd:$2.commands.get($3),path:"/usr/bin/"+$3};';

/** Matches \`wait\`, which the engine lets succeed. Without this, the shell's own command is run. */
const WAIT = /if\([\w$]+==="wait"\)return [\w$]+;/g;

/** Matches the reading of a variable whose default is the only part of a quoted word, such as `"${x:-1}"`. */
const DEFAULTED =
  /(=await [\w$]+\(([\w$]+),([\w$]+)\),[\w$]+=await [\w$]+\(\2,\3)(?=\),[\w$]+=[\w$]+==="",[\w$]+=[\w$]+\.checkEmpty)/g;

/** Matches the version of bash that the engine states. */
const VERSION = /"5\.1\.0\(1\)-release"/g;
/** Matches the reading of a file by \`source\`. */
const SOURCE = /([\w$]+)=await ([\w$]+)\.fs\.readFile\(([\w$]+)\),([\w$]+)=\3(?=\}catch\{\}\}else)/g;

/** Matches the value of `$-`. */
const FLAGS =
  /case"-":\{let ([\w$]+)="";return \1\+="h",([\w$]+)\.state\.options\.errexit&&.{0,300}?\1\+="s",\1\}/g;
/** Code of `$-`, whose letters have the order of bash. */
const FLAGS_TEXT =
  'const flagsOfPaddock=({options,otherOptions})=>"a:allexport b:notify e:errexit f:noglob h:hashall ' +
  "m:monitor n:noexec p:privileged u:nounset v:verbose x:xtrace B:braceexpand C:noclobber E:errtrace H:histexpand " +
  'P:physical T:functrace".split(" ").filter((flag)=>{const name=flag.slice(2);' +
  'return options[name]??otherOptions?.get(name)??"hB".includes(flag[0])}).map((flag)=>flag[0]).join("")+"c";';

/** Matches the end of a round of a loop by `break` or `continue`, which leave the exit code 0. */
const LEFT_ROUND =
  /([\w$]+)=([\w$]+)\.exitCode\}\}catch\(([\w$]+)\)\{let ([\w$]+)=([\w$]+\(\3,([\w$]+)\.stdout,\6\.stderr,[\w$]+\.state\.loopDepth\));if\(/g;
const LEAVE_ROUND =
  '$1=$2.exitCode}}catch($3){let $4=$5;if($4.action==="break"||$4.action==="continue")$1=0;if(';
/** Matches the start of a script that is called by its path. */
const PROGRAM = /(([\w$]+)\.state\.currentSource=([\w$]+),)\2\.state\.env\.set\("0",\3\),/g;

/** Matches the quoting of `${x@Q}`. */
const QUOTE = /function ([\w$]+)\(([\w$]+)\)\{if\(\2===""\)return"''";(?=if\(\/\[\\n\\r\\t)/g;
/** Matches the transformations of one value, and the transformations of the values of an array in quotes. */
const TRANSFORMATIONS =
  /(function [\w$]+\(([\w$]+),([\w$]+),([\w$]+),([\w$]+),([\w$]+)\)\{)\2\.coverage\?\.hit\("bash:expansion:transform"\);(?=.{0,400}?return ([\w$]+)\(\2,[\w$]+\[1\]\)\.map.{0,300}?return ([\w$]+)\(\2,[\w$]+\[1\]\))/g;
const ARRAY_TRANSFORMATIONS =
  /let ([\w$]+)=([\w$]+)\(([\w$]+),([\w$]+)\),[\w$]+=\[\],[\w$]+=0;(?=for\(let\[,[\w$]+\]of ([\w$]+)\)\{let [\w$]+;switch\(([\w$]+)\.operator\)\{case"a")/g;
/** Matches the printing of an associative array by `declare -p`. */
const PRINTED_ARRAY =
  /let ([\w$]+)=([^;]*?\?\?""),([\w$]+)=[\w$]+\(\1\);return`\[\$\{[\w$]+\(([\w$]+)\)\}\]=\$\{\3\}`\}\);([\w$]+)\+=`declare -A \$\{([\w$]+)\}=\(\$\{([\w$]+)\.join\(" "\)\}\)\n`/g;
/** Code of `${x@A}`, `${x@K}` and `${x@k}`, which name a variable or its keys. */
const TRANSFORM = `const valueOfPaddock=(word,quote)=>/[\\x00-\\x1f\\x7f]/.test(word)?quote(word):` +
  `'"'+word.replace(/["$\`\\\\]/g,"\\\\$&")+'"';` +
  `const keyOfPaddock=(word,quote)=>/[^\\w@%+:,./\\u0080-\\uffff-]/.test(word)?valueOfPaddock(word,quote):word;` +
  `const transformOfPaddock=(operator,name,attributes,entries,value,quote)=>{` +
  `const text=(word)=>valueOfPaddock(word,quote),key=(word)=>keyOfPaddock(word,quote);` +
  `if(operator==="A"){const declared=attributes===""?"":"declare -"+attributes+" ";` +
  `if(!entries)return declared+name+"="+quote(value);const ends=attributes.includes("A")?" )":")";` +
  `return declared+name+"=("+entries.map(([index,word])=>"["+key(String(index))+"]="+text(word)).join(" ")+ends}` +
  `if(operator==="K"&&entries){const words=entries.map(([index,word])=>key(String(index))+" "+text(word)).join(" ");` +
  `return attributes.includes("A")?words+" ":words}};`;

/** Matches the expansion of a command's words, behind the assignments before the command. */
const WORDS =
  /(([\w$]+)=Array\.from\(([\w$]+)\.keys\(\)\);if\(\2\.length>0&&![\w$]+\)\{.{0,160}?tempExportedVars\.add\([\w$]+\)\})(let [\w$]+=await [\w$]+\(this\.ctx,([\w$]+)\.name\),.{0,1500}?)(let [\w$]+=\5\.name\.parts\.every\()/g;
/** Code of a function that withholds assigned values from the expansion of words, and then sets them. */
const WITHHOLD =
  "const withholdPaddock=(env,before,values)=>{if(values){for(const[name,value]of values)env.set(name,value);return}" +
  "if(before.size===0)return;const assigned=new Map;for(const[name,value]of before){assigned.set(name,env.get(name));" +
  "if(value===void 0)env.delete(name);else env.set(name,value)}return assigned};";

/** Returns the engine's minified code with the changes that {@linkcode bundleEngine} lists. */
export function changeEngine(engine: string): string {
  const defaulted = replace(changeIntegers(engine), DEFAULTED, "$1,!1", 1); // the third argument: refuse if not set
  const stated = replace(defaulted, VERSION, '"5.2.15(1)-release"', 1);
  const sourced = replace(stated, SOURCE, "$1=await $2.sourceText?.($3)??await $2.fs.readFile($3),$4=$3", 1);
  const flagged = replace(sourced, FLAGS, 'case"-":return flagsOfPaddock($2.state);', 1);
  const left = replace(flagged, LEFT_ROUND, LEAVE_ROUND, 4);
  const called = replace(
    left,
    PROGRAM,
    '$1$2.onProgram?.($2.state),$2.state.env.set("0",$2.programName??$3),',
    1,
  );
  const ordered = replace(
    called,
    WORDS,
    "$1const paddockValues=withholdPaddock(this.ctx.state.env,$3);$4" +
      "withholdPaddock(this.ctx.state.env,$3,paddockValues);$6",
    1,
  );
  const found = replace(
    ordered,
    HASHED,
    FIND_BUILTIN + 'if($2.state.hashedPath!==$2.state.env.get("PATH"))' +
      '$2.state.hashTable?.clear(),$2.state.hashedPath=$2.state.env.get("PATH");if(!$1&&$2.state.hashTable){',
    1,
  );
  const waiting = replace(found, WAIT, "", 1);
  const started = decodeLines(replace(waiting, START, SHOWN_START, 1));
  const parsed = changeArithmetic(changeParser(changeStreams(changePatterns(started))));
  const changed = changeTrace(
    changeArrays(transformVariables(changeErrors(changeExpansions(changeAliases(parsed))))),
  );
  return `${WITHHOLD}${TRANSFORM}${FLAGS_TEXT}${changed}`;
}

function decodeLines(engine: string): string {
  const [, toText = ""] = TO_TEXT.exec(engine) ?? [];
  const reading = replace(engine, LINE_READ, `$1$2=${toText}($2);`, toText === "" ? 0 : 1);
  return replace(reading, LINE_MAPPED, `$1${toText}($2)`, 1);
}

/** Makes the transformations that the engine lacks: `@A` with attributes and of arrays, `@K` and `@k`. */
function transformVariables(engine: string): string {
  const quote = findName(engine, QUOTE);
  const quoted = replace(
    engine,
    QUOTE,
    `function $1($2){if($2==="")return"''";if(!/[\\x00-\\x1f\\x7f]/.test($2))return"'"+$2.replaceAll("'","'\\\\''")+"'";`,
    1,
  );
  const name = quote.replaceAll("$", "$$$$");
  const listed = replace(
    quoted,
    PRINTED_ARRAY,
    `let $1=$2;return"["+keyOfPaddock($4,${name})+"]="+valueOfPaddock($1,${name})});` +
      '$5+="declare -A "+$6+"=("+$7.join(" ")+" )\\n"',
    3,
  );
  const single = replace(
    listed,
    TRANSFORMATIONS,
    `$1if($6.operator==="Q"&&($3==="@"||$3==="*"))return Array.from({length:Number($2.state.env.get("#")??0)},` +
      `(_,at)=>${name}($2.state.env.get(String(at+1))??"")).join(" ");` +
      `if("AKk".includes($6.operator)){const name=/^[a-zA-Z_]\\w*/.exec($3)?.[0]??$3,whole=/\\[[@*]\\]$/.test($3);` +
      `const entries=whole?$7($2,name):void 0;if($5&&!entries?.length)return"";` +
      `const text=transformOfPaddock($6.operator,name,$8($2,name),entries,$4,${name});` +
      `if(text!==void 0)return text;if(entries)return entries.flat().join(" ")}`,
    1,
  );
  return replace(
    single,
    ARRAY_TRANSFORMATIONS,
    `$&if("AK".includes($6.operator))return{values:[transformOfPaddock($6.operator,$4,$1,$5,"",${name})],quoted:!0};if($6.operator==="k")return{values:$5.flat().map(String),quoted:!0};`,
    1,
  );
}
