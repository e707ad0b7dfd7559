import { findName, replace } from "./replace.ts";

/** Matches the writing of both streams to one file, in the encoding of stdout. */
const JOINED =
  /let ([\w$]+)=([\w$]+)\+([\w$]+);(?=\1!==""&&\(([\w$]+)\.kind==="file"\?await [\w$]+\(\4,\1,([\w$]+)\(\1\)\))/g;
/** Matches the writing of one stream to another. `$3` is true for stdout. */
const SWITCHED =
  /(for\(let\[([\w$]+),[\w$]+,([\w$]+)\]of.{0,100}?case"live-stdout":[\w$]+\+=)\2(;break;case"live-stderr":[\w$]+\+=)\2(;break;case"file":await [\w$]+\([\w$]+,\2,\3\?([\w$]+)\(\2\))/g;
/** Matches the count of the bytes that a redirection leaves in stdout. */
const COUNTED =
  /(let [\w$]+=\([\w$]+\.internalOutputAccounting\?\.stdout\?\?0\)\+\([\w$]+\.internalOutputAccounting\?\.stderr\?\?0\),[\w$]+=)([\w$]+\(([\w$]+)\.stdout\))/g;

/** Matches the adding of a command's trace, which its redirections must not take. */
const TRACED =
  /if\(([\w$]+)&&\(([\w$]+)=\{\.\.\.\2,stderr:\1\+\2\.stderr\}\),(\2=await [^;]*?internalProducerOmitsShellPrefix\)),/g;

/** Matches the expansion of the target of a redirection such as `<&3`. */
const COPIED =
  /(ambiguous redirect\n`,1\),[\w$]+\);([\w$]+)=await [\w$]+\(([\w$]+),([\w$]+)\.target\))(?=\}else if\(\4\.operator==="<<<"\))/g;
/** Matches the function that opens redirections, whose settings know whether they hold for later commands. */
const OPENING =
  /async function [\w$]+\([\w$]+,[\w$]+,[\w$]+,([\w$]+)\)\{let [\w$]+=new Map,[\w$]+=new Map,[\w$]+=\([\w$]+,[\w$]+\)=>[\w$]+\.state\.closedStandardFds/g;

/** Matches the reading of `{name}` before a redirection, and the descriptor that `{name}>&-` closes. */
const NAMED =
  /(scanFdVariable\([\w$]+\)\{[^{}]*for\(;([\w$]+)<[\w$]+;\)\{let [\w$]+=([\w$]+)\[\2\];[^]{0,300}?return null;)(let [\w$]+=\3\.slice)/g;
const CLOSED = /(=Number\.parseInt\()([\w$]+)\.state\.env\.get\(([\w$]+)\.fdVariable\)\?\?""(?=,10\))/g;
/** Code that returns the number in a variable, or in an element such as the one of `{COPROC[1]}`. */
const DESCRIPTOR = "const descriptorOfPaddock=({env,arrays},text)=>{" +
  "const[,name,key]=/^(\\w+)\\[(\\w+)\\]$/.exec(text)??[];" +
  'return(name===void 0?env.get(text):arrays?.get(name)?.elements.get(key))??""};';

const CONVERSIONS =
  'const bytesOfPaddock=(text)=>{let bytes="";for(const byte of new TextEncoder().encode(text))' +
  "bytes+=String.fromCharCode(byte);return bytes};" +
  "const textOfPaddock=(bytes)=>new TextDecoder().decode(Uint8Array.from(bytes,(byte)=>byte.charCodeAt(0)));";

/**
 * Changes redirections so that stdout of bytes and stderr, which is text, can be joined: `2>&1` encodes stderr, and
 * `>&2` decodes stdout. The trace of `set -x` goes to the stderr of the shell.
 */
export function changeStreams(engine: string): string {
  const joined = replace(engine, JOINED, 'let $1=$2+($5()==="binary"?bytesOfPaddock($3):$3);', 1);
  const switched = replace(
    joined,
    SWITCHED,
    '$1($3||$6()!=="binary"?$2:bytesOfPaddock($2))$4($3&&$6()==="binary"?textOfPaddock($2):$2)$5',
    1,
  );
  const counted = replace(
    switched,
    COUNTED,
    '$1$3.stdoutKind==="bytes"||$3.stdoutEncoding==="binary"?$3.stdout.length:$2',
    1,
  );
  const traced = replace(counted, TRACED, "if($3,$1&&($2={...$2,stderr:$1+$2.stderr}),", 1);
  const awaited = replace(
    traced,
    COPIED,
    '$1;$4.operator==="<&"&&/^\\d+-?$$/.test($2)&&await $3.beforeInput?.(Number.parseInt($2,10),' +
      `${findName(engine, OPENING).replaceAll("$", "$$$$")}.policy==="persistent")`,
    1,
  );
  const named = replace(
    awaited,
    NAMED,
    "$1{const paddockKey=/^\\[\\w+\\](?=\\}[<>]&-)/.exec($3.slice($2,$2+40));if(paddockKey)$2+=paddockKey[0].length}$4",
    1,
  );
  const closed = replace(named, CLOSED, "$1descriptorOfPaddock($2.state,$3.fdVariable)", 1);
  return `${CONVERSIONS}${DESCRIPTOR}${closed}`;
}
