# Additions to `multiprocessing.context`: the three ways to start a process.

import io
import types

from paddock import _namespaces, _pipes, _processes

reduction.HAVE_SEND_HANDLE = True
_main_class = type(process._current_process)


def _class_of_popen(method):
    from . import popen_fork, spawn, util

    class Popen(popen_fork.Popen):
        """Starts a process of this session."""

        def keep(self, shared):
            self._kept.append(shared)

        def _launch(self, process_obj):
            self._kept = []
            data = None if method == "fork" else self._dump(process_obj)
            parent_r, child_w = _pipes.pipe()
            child_r, parent_w = _pipes.pipe()

            def run():
                if data is not None:
                    return _run_spawned(data, child_r)
                for fd in (parent_r, parent_w):
                    os.close(fd)
                return _run_process(lambda: process_obj._bootstrap(parent_sentinel=child_r))

            try:
                if data is None:
                    self.pid = _processes.spawn(run, fork=[process_obj, *util._afterfork_registry.values()])
                else:
                    fds = {fd: _pipes.end_of(fd) for fd in (child_w, child_r)}
                    self.pid = _processes.spawn(run, fork=None if _has_source() else [], fds=fds)
            except BaseException:
                util.close_fds(parent_r, parent_w)
                raise
            finally:
                util.close_fds(child_w, child_r)
            self.finalizer = util.Finalize(self, util.close_fds, (parent_r, parent_w))
            self.sentinel = parent_r

        def _dump(self, process_obj):
            _write_source()
            data = spawn.get_preparation_data(process_obj._name)
            buffer = io.BytesIO()
            set_spawning_popen(self)
            try:
                reduction.dump(data, buffer)
                reduction.dump(process_obj, buffer)
            finally:
                set_spawning_popen(None)
            return buffer.getvalue()

    Popen.method = method
    Popen.__module__ = f"multiprocessing.popen_{'spawn_posix' if method == 'spawn' else method}"
    return Popen


def _has_source():
    """True if the main module can be run again from its file."""
    main = sys.modules["__main__"]
    return getattr(main, "__spec__", None) is not None or hasattr(main, "__file__")


def _write_source():
    """Writes the program to its file, if that does not exist, since the process imports it from there."""
    import linecache

    name = getattr(sys.modules["__main__"], "__file__", None)
    lines = linecache.getlines(name) if name else []
    if lines and not os.path.exists(name):
        with open(name, "x", encoding="utf-8", errors="surrogatepass") as file:
            file.writelines(lines)


def _run_spawned(data, parent_sentinel):
    """Runs a pickled process that shares no module of the program with its parent."""
    from . import spawn, util

    process._current_process = _main_class()
    process._parent_process = None
    util._afterfork_registry.clear()
    if _has_source():
        for name, module in list(sys.modules.items()):
            if _namespaces.is_user_module(module):
                del sys.modules[name]
        sys.modules["__main__"] = sys.modules["__mp_main__"] = types.ModuleType("__main__")
    stream = io.BytesIO(data)
    try:
        process._current_process._inheriting = True
        try:
            spawn.prepare(reduction.pickle.load(stream))
            process_obj = reduction.pickle.load(stream)
        finally:
            del process._current_process._inheriting
    except Exception:
        sys.excepthook(*sys.exc_info())
        return 1
    return _run_process(lambda: process_obj._bootstrap(parent_sentinel))


def _run_process(bootstrap):
    import atexit

    from . import util

    atexit._clear()
    atexit.register(util._exit_function)
    code = bootstrap()
    atexit._run_exitfuncs()
    return code & 0xFF if isinstance(code, int) else 1


_popen_classes = {}


def _start_with(method):
    def _Popen(process_obj):
        if method not in _popen_classes:
            _popen_classes[method] = _class_of_popen(method)
        return _popen_classes[method](process_obj)

    return staticmethod(_Popen)


ForkProcess._Popen = _start_with("fork")
SpawnProcess._Popen = _start_with("spawn")
ForkServerProcess._Popen = _start_with("forkserver")
_concrete_contexts = {"fork": ForkContext(), "spawn": SpawnContext(), "forkserver": ForkServerContext()}
_default_context = DefaultContext(_concrete_contexts["forkserver"])
