import { replace } from "./replace.ts";

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
  return `${CONVERSIONS}${traced}`;
}
