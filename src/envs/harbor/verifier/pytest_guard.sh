# Runs pytest, and fails unless pytest itself has ended the session: code under test may end the process with status 0.
_paddock_pytest() {
  local mark code
  mark=$(mktemp -u)
  PYTHONPATH="$PADDOCK_GUARD${PYTHONPATH:+:$PYTHONPATH}" PADDOCK_PYTEST_MARK=$mark command pytest -p paddock_pytest_guard "$@"
  code=$?
  if [ "$code" -eq 0 ] && [ ! -e "$mark" ]; then
    echo "pytest: the process ended before the tests did" >&2
    code=3
  fi
  rm -f "$mark"
  return "$code"
}
pytest() { _paddock_pytest "$@"; }
py.test() { _paddock_pytest "$@"; }
python() {
  if [ "$1" = -m ] && [ "$2" = pytest ]; then
    shift 2
    _paddock_pytest "$@"
  else
    command python "$@"
  fi
}
python3() { python "$@"; }
export -f _paddock_pytest pytest py.test python python3
