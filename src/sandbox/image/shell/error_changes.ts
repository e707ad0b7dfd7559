import { findName, replace } from "./replace.ts";

/** Matches the class of the error of a variable that is not set. */
const UNSET = /([\w$]+)=class extends [\w$]+\{varName;name="NounsetError";/g;
const ARITHMETIC = /([\w$]+)=class extends [\w$]+\{name="ArithmeticError";/g;
/** Matches the refusal to assign to a variable. */
const READ_ONLY = /(=`\$\{[\w$]+\}: \$\{([\w$]+)\}: readonly variable\n`;throw )new [\w$]+\(1,"",([\w$]+)\)/g;
/** Matches the names of the errors of expansions, which end a subshell. */
const ERROR_NAME = /name="(?:NounsetError|ArithmeticError|BadSubstitutionError|GlobError)";/g;

/** Matches the test for errors that pass through groups and loops. */
const PASSES =
  /(function [\w$]+\(([\w$]+)\)\{return )(?=\2 instanceof [\w$]+\|\|\2 instanceof [\w$]+\|\|\2 instanceof [\w$]+\}var)/g;
/** Matches the test for errors that end a loop, and the one for those that end a subshell. */
const ENDS_LOOP =
  /if\((?=([\w$]+) instanceof [\w$]+\|\|\1 instanceof [\w$]+\|\|\1 instanceof [\w$]+\|\|\1 instanceof [\w$]+\)return \1\.prependOutput)/g;
const ENDS_SUBSHELL =
  /(?=([\w$]+) instanceof [\w$]+\|\|\1 instanceof [\w$]+\|\|\1 instanceof [\w$]+\?\([\w$]+\.append\("stdout",\1\.stdout,\1\.internalOutputAccounting\.stdout\),[\w$]+\.append\("stderr",\1\.stderr,\1\.internalOutputAccounting\.stderr\),[\w$]+\.build\(\1\.exitCode\)\):)/g;
const IS_EXPANSION_ERROR =
  'const endsLineOfPaddock=(error)=>["NounsetError","ArithmeticError","BadSubstitutionError","GlobError"].includes(error?.name);';

/** Matches the handling of errors in a part of a pipeline, which is a process of its own. */
const PIPED =
  /(catch\(([\w$]+)\)\{if\()\2 instanceof [\w$]+(\)([\w$]+)=\{stdout:\2\.stdout,stderr:\2\.stderr,exitCode:1\};else if\(\2 instanceof [\w$]+&&)([\w$]+\.commands\.length>1)/g;

/** Matches the loop over the statements of a script, up to the handling of an error. */
const STATEMENTS =
  /(async executeScript\(([\w$]+)\)\{[^{}]*let ([\w$]+)=0,([\w$]+)=new [\w$]+\([^)]*\);)(for\(let ([\w$]+) of \2\.statements\))(try\{[^{}]*\}catch\(([\w$]+)\)\{)(?=[^{}]*\{\.\.\.\4\.build\(\3\),exitCode:\3,env:([\w$]+)\(this\.ctx\.state\.env\)\})/g;
/** Ends the line, or the script, at an error of an expansion. */
const END_LINE = "$1let paddockSkips=false;$5if(paddockSkips)paddockSkips=!$6.endsLine;else $7" +
  'if($8===$6.parseError){$4.append("stderr",syntaxOfPaddock($8,$8.script,(text)=>text));' +
  "$3=$8.isConditional?this.ctx.state.lastExitCode:2;" +
  'this.ctx.state.lastExitCode=$3;this.ctx.state.env.set("?",String($3));' +
  "return{...$4.build($3),exitCode:$3,env:$9(this.ctx.state.env)}}" +
  'if(endsLineOfPaddock($8)){const isUnset=$8.name==="NounsetError",ends=isUnset||this.ctx.state.options.errexit&&' +
  "($8.isAssignment||/^(?:BadSubstitution|Glob)Error$$/.test($8.name)),code=!isUnset?1:this.onUnset?this.onUnset():1;" +
  "if(code===void 0){$8.prependOutput($4.stdout,$4.stderr);throw $8}" +
  '$4.append("stdout",$8.stdout,$8.internalOutputAccounting.stdout);' +
  '$4.append("stderr",$8.stderr,$8.internalOutputAccounting.stderr);' +
  '$3=this.ctx.state.lastExitCode=code;this.ctx.state.env.set("?",String(code));' +
  "if(ends)return{...$4.build(code),exitCode:code,env:$9(this.ctx.state.env)};" +
  "paddockSkips=!$6.endsLine;continue}";

/** Matches `${x:?text}` of a variable that is not set. */
const REFUSED =
  /(async function [\w$]+\(([\w$]+),([\w$]+),([\w$]+),[\w$]+,[\w$]+\)\{if\(\2\.coverage\?\.hit\("bash:expansion:error_if_unset"\)[^`]*)`\$\{\3\}: parameter null or not set`;throw new [\w$]+\(1,"",`bash: \$\{([\w$]+)\}\n`\)/g;

/** Matches the end of a command that is only assignments. */
const ASSIGNED =
  /(if\(!([\w$]+)\.name\)\{if\(\2\.redirections\.length>0\)\{.{0,500}?expansionStderr="",[\w$]+\("",[\w$]+,)(this\.ctx\.state\.lastExitCode)(?=\)\})/g;
/** Matches the end of a command whose words expand to nothing. */
const NOTHING =
  /(\(this\.ctx,([\w$]+)\.redirections,[\w$]+==="exec"\?.{0,400}?\?\([\w$]+\.finish\(\),[\w$]+\("",)"",(this\.ctx\.state\.lastExitCode)(?=\)\))/g;
/** Code of a function that tells whether a part of a command runs another command. */
const SUBSTITUTES = 'const substitutesOfPaddock=(part)=>typeof part==="object"&&part!==null&&' +
  "(/^(?:Arith)?CommandSubst/.test(part.type)&&part.body?.statements.length!==0||Object.values(part).some(substitutesOfPaddock));" +
  'const takeErrorsOfPaddock=(state)=>{const text=state.expansionStderr||"";state.expansionStderr="";return text};';

/** Matches the expansion of a command substitution, which without a command keeps the last exit code. */
const SUBSTITUTION = /(case"CommandSubstitution":\{)(?=let ([\w$]+)=[\w$]+\(([\w$]+)\.body\);if\(\2\)try)/g;
/** Matches the message of `eval` about a script that cannot be parsed. */
const EVALUATED = /(return [\w$]+\(`bash: eval: \$\{[\w$]+\.message\}\n`)(?=\))/g;

/** Matches where the engine ends only the command, or the loop, whose pattern matches no file with `failglob`. */
const UNMATCHED =
  /(catch\(([\w$]+)\)\{if\([\w$]+\?\.finish\(\),)\2 instanceof [\w$]+\)return [\w$]+\(\2\.stderr\);throw \2\}/g;
const UNMATCHED_LIST =
  /("for-loop expansion"\)\}\}catch\(([\w$]+)\)\{)if\(\2 instanceof [\w$]+\)return\{stdout:"",stderr:\2\.stderr,exitCode:1\};/g;

/** Matches the reading of `[[`, whose errors leave the exit code of the command before. */
const CONDITION = /parseConditionalCommand\(\)\{/g;
const READ_CONDITION = "parseConditionalCommand(){try{return this.parseConditionalOfPaddock()}catch(error){" +
  'if(error?.token?.type!=="EOF")Object.assign(error,{isConditional:!0});throw error}}parseConditionalOfPaddock(){';

/** Matches the parameter of a function that has the text of a script. */
const SCRIPT = /async execInScope\(([\w$]+),/g;
/** Matches the messages about a script that cannot be parsed. */
const SYNTAX =
  /(if\(([\w$]+)(?:\.name==="ParseException"| instanceof [\w$]+)\)return [\w$]+\(\{stdout:"",stderr:)`bash: (?:syntax error: )?\$\{([\w$]+)\(\2\.message\)\}\n`(,exitCode:)2/g;
/** Code of the message as bash writes it, with the line of the script behind an unexpected word. */
const SYNTAX_TEXT =
  `const syntaxOfPaddock=({line,token,message},script,clean)=>{const lines=script.replace(/\\n$/,"").split("\\n");` +
  `const text=clean(message.replace(/^(?:Parse error at \\d+:\\d+|line \\d+): /,"")),start="bash: -c: line ";` +
  `if(text.startsWith("unexpected EOF"))return start+(line||1)+": "+text.replace(/'(.)'$/,"\`$1'")+"\\n";` +
  `if(token?.type==="EOF")return start+(lines.length+1)+": syntax error: unexpected end of file\\n";` +
  `const word=token?.type==="NEWLINE"?"newline":token?.value??/unexpected token \`([^]*)'$/.exec(text)?.[1];` +
  `if(word===void 0||!/unexpected token|^Expected/.test(text))return start+line+": syntax error: "+text+"\\n";` +
  `return start+line+": syntax error near unexpected token \`"+clean(word)+"'\\n"+start+line+": \`"+` +
  `clean(lines[line-1]??"")+"'\\n"};`;

/**
 * Changes what errors of expansions end, as in bash:
 *
 * - An error of arithmetic, a bad substitution, a pattern without a match with `failglob` or an assignment to a read-only variable ends the line of the script, in the middle of groups and loops.
 * - A variable that must be set ends the script. The hook `onUnset` returns its exit code, or `undefined` if the error
 *   passes on to the script that runs this one by `eval` or `source`.
 * - Assignments succeed, unless they run a command, whose exit code they have.
 * - A command whose words expand to nothing prints the errors of its expansions.
 * - Errors of syntax have the line and the unexpected word. Those in `[[` leave the exit code.
 */
export function changeErrors(engine: string): string {
  const unset = findName(engine, UNSET);
  const arithmetic = findName(engine, ARITHMETIC).replaceAll("$", "$$$$");
  const kept = replace(
    engine,
    READ_ONLY,
    `$1Object.assign(new ${arithmetic}($2),{stderr:$3,isAssignment:!0})`,
    1,
  );
  const coded = replace(kept, ERROR_NAME, "$&exitCode=1;", 4);
  const passed = replace(coded, PASSES, "$1endsLineOfPaddock($2)||", 1);
  const piped = replace(passed, PIPED, "$1endsLineOfPaddock($2)&&$5$3$5", 1);
  const looped = replace(piped, ENDS_LOOP, "if(endsLineOfPaddock($1)||", 1);
  const subshelled = replace(looped, ENDS_SUBSHELL, "endsLineOfPaddock($1)||", 1);
  const refused = replace(
    subshelled,
    REFUSED,
    `$1\`parameter \${$4.checkEmpty?"null or ":""}not set\`;throw Object.assign(new ${unset}($3),` +
      "{stderr:`bash: ${$3}: ${$5}\n`})",
    1,
  );
  const assigned = replace(refused, ASSIGNED, "$1substitutesOfPaddock($2.assignments)?$3:0", 1);
  const complaining = replace(
    assigned,
    NOTHING,
    "$1takeErrorsOfPaddock(this.ctx.state),substitutesOfPaddock([$2.name,$2.args])?$3:0",
    1,
  );
  const evaluated = replace(complaining, EVALUATED, "$1,2", 1);
  const emptied = replace(evaluated, SUBSTITUTION, '$1if($3.body.statements.length===0)return"";', 1);
  const globbed = replace(
    replace(emptied, UNMATCHED, "$1!0)throw $2}", 1),
    UNMATCHED_LIST,
    "$1",
    1,
  );
  const conditional = replace(globbed, CONDITION, READ_CONDITION, 1);
  const script = findName(emptied, SCRIPT).replaceAll("$", "$$$$");
  const explained = replace(
    conditional,
    SYNTAX,
    `$1syntaxOfPaddock($2,${script},$3)$4($2.isConditional?0:2)`,
    2,
  );
  return `${IS_EXPANSION_ERROR}${SUBSTITUTES}${SYNTAX_TEXT}${replace(explained, STATEMENTS, END_LINE, 1)}`;
}
