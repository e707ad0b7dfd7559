import { replace } from "./replace.ts";

/** Matches the setting of `FS`, and the reading of `-F`. */
const SEPARATOR =
  /(===" "\)[\w$]+\.fieldSep=new [\w$]+\(\/\\s\+\/\);else try\{)([\w$]+\.fieldSep=[\w$]+\(([\w$]+)\)\}catch)/g;
const SEPARATOR_OPTION =
  /(if\(([\w$]+)===" "\)return [\w$]+\("\\\\s\+"\);if\()(\/\[\[\\\]\(\)\{\}\.\*\+\?\^\$\|\\\\\]\/\.test\(\2\)\)try)/g;

/** Changes the engine's awk: a field separator of one sign is that sign, also if it is an operator of patterns. */
export function changeAwk(engine: string): string {
  const set = replace(engine, SEPARATOR, '$1if($3.length===1&&$3!=="\\\\")throw $3;$2', 1);
  return replace(set, SEPARATOR_OPTION, '$1($2.length>1||$2==="\\\\")&&$3', 1);
}
