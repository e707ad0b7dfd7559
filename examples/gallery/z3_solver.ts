// deno-lint-ignore-file no-console -- an example shows what it does
/**
 * Solves a puzzle with Z3 in the sandbox. Its packages are downloaded once, by
 * `paddock --yes exec --profile reason -e 'import z3'`.
 */
import { loadProfile, Sandbox } from "@paddock/paddock/sandbox";

const program = `
from z3 import Distinct, Ints, Solver, And

letters = Ints("S E N D M O R Y")
S, E, N, D, M, O, R, Y = letters
number = lambda *digits: sum(digit * 10 ** place for place, digit in enumerate(reversed(digits)))
solver = Solver()
solver.add(*[And(0 <= letter, letter <= 9) for letter in letters], Distinct(*letters), S > 0, M > 0)
solver.add(number(S, E, N, D) + number(M, O, R, E) == number(M, O, N, E, Y))
print(solver.check())
model = solver.model()
print(" + ".join(str(model.eval(number(*word))) for word in [(S, E, N, D), (M, O, R, E)]), "=",
      model.eval(number(M, O, N, E, Y)))
`;
await using sandbox = await Sandbox.start({ profile: await loadProfile("reason") });
await using session = await sandbox.openSession();
const result = await session.exec(program);
if (result.status !== "ok") throw new Error(result.stderr);
console.log(result.stdout.trim());
