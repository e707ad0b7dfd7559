import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { withPython } from "../../with_python.ts";

const FIXTURES = `import os, sys, logging, math
import pytest
LOG = []

@pytest.fixture
def one(): return 1
@pytest.fixture
def opened(one, tmp_path):
    yield tmp_path / "x"
    LOG.append("closed")
@pytest.fixture(params=[1, pytest.param(2, id="two")])
def number(request): return request.param
@pytest.fixture(scope="module")
def shared(): return []
@pytest.fixture(autouse=True)
def always(monkeypatch): monkeypatch.setenv("AUTO", "1")

def setup_module(): LOG.append("module")
def test_opened(opened):
    opened.write_text("a")
    assert opened.read_text() == "a" and LOG == ["module"]
def test_closed(): assert LOG == ["module", "closed"]
def test_number(number): assert number in (1, 2)
def test_shared(shared): shared.append(1)
def test_shared_again(shared): assert shared == [1] and os.environ["AUTO"] == "1"
def test_capsys(capsys):
    print("hi")
    print("no", file=sys.stderr)
    assert capsys.readouterr() == ("hi\\n", "no\\n")
    assert capsys.readouterr().out == ""
def test_monkeypatch(monkeypatch):
    monkeypatch.setattr("math.pi", 3)
    monkeypatch.setattr("builtins.input", lambda *_: "typed")
    assert math.pi == 3 and input() == "typed"
def test_undone(): assert math.pi > 3.1
def test_caplog(caplog):
    with caplog.at_level(logging.INFO): logging.info("told %d", 1)
    assert "told 1" in caplog.text and caplog.messages == ["told 1"]
@pytest.mark.parametrize("z", [5, pytest.param(6, marks=pytest.mark.xfail)])
class TestOwn:
    def setup_method(self): self.made = 2
    @pytest.fixture
    def own(self): return self.made
    def test_own(self, own, one, z): assert (own, one, z) == (2, 1, 5)
def test_warns():
    import warnings
    with pytest.warns(UserWarning, match="care"): warnings.warn("careful")
    pytest.importorskip("no_such_module")
def test_request(request):
    assert request.getfixturevalue("one") == 1 and request.node.name == "test_request"
`;

Deno.test("/run_code provides fixtures to tests, as pytest does", async () => {
  await withPython(async ({ send }) => {
    const tests = async (code: string, files = {}) =>
      (await send("POST", "/run_code", { code, language: "pytest", files, run_timeout: 60 })).body.run_result;
    const passed = await tests(FIXTURES);
    assertEquals(passed.return_code, 0, passed.stdout + passed.stderr);
    assertMatch(passed.stdout, /^===== 12 passed, 1 skipped, 1 xfailed in \d+\.\d\ds =====$/m);
    assertStringIncludes(passed.stdout, "test_program.py::test_number[two] PASSED\n");
    assertStringIncludes(passed.stdout, "test_program.py::TestOwn::test_own[6] XFAILED\n");
    const failed = await tests("def test_a(nothing): pass\ndef test_b():\n    assert 1 == 2, 'why'");
    assertEquals(failed.return_code, 1);
    assertStringIncludes(failed.stdout, "FAILED test_program.py::test_a - ");
    assertStringIncludes(failed.stdout, "fixture 'nothing' not found\n");
    assertStringIncludes(failed.stdout, "FAILED test_program.py::test_b - AssertionError: why\n");
    assertEquals(failed.stdout.match(/^ {2}File .*$/gm), [
      failed.stdout.match(/^ {2}File .*in test_b$/m)?.[0],
    ]);
    const conftest = btoa("import pytest\n@pytest.fixture\ndef given(): return 7");
    const shared = await tests("def test_c(given): assert given == 7", { "conftest.py": conftest });
    assertEquals(shared.return_code, 0, shared.stdout);
  }, { maxSessions: 1 });
});
