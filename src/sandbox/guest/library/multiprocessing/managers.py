# Additions to `multiprocessing.managers`: the server of a manager needs no process. Its methods run in the caller's
# thread, with pickled arguments and results.

import itertools

from paddock import _namespaces, _processes, _scheduler

_numbers = itertools.count(1)


class _ReplyPickler(reduction.ForkingPickler):
    """Pickles objects of the server, whose classes another process may have under the same names."""

    def reducer_override(self, obj):
        if isinstance(obj, type) and _namespaces.is_user_module(sys.modules.get(obj.__module__)):
            return _find_class, (obj.__module__, obj.__qualname__)
        return NotImplemented


def _find_class(module, name):
    __import__(module)
    found = sys.modules[module]
    for part in name.split("."):
        found = getattr(found, part)
    return found


class _Listener:
    def __init__(self, address=None, backlog=1):
        self.address = address or f"/tmp/pymp-{next(_numbers)}/listener"

    def close(self):
        pass


class _DirectConnection:
    """A connection to the server of a manager."""

    def __init__(self, server):
        self._server, self._reply, self._request = server, None, None

    def send(self, request):
        if _processes.current().ended:
            _processes.leave(_scheduler.running[0])
        request = reduction.ForkingPickler.loads(reduction.ForkingPickler.dumps(request))
        if request[0] is None:
            self._reply_with(self._call(*request))
            return
        self._request = request
        try:
            self._server.serve_client(_Exchange(self))
        except SystemExit:
            pass  # there is one request at a time

    def recv(self):
        reply, self._reply = self._reply, None
        return reduction.ForkingPickler.loads(reply)

    def close(self):
        pass

    def _call(self, _ident, name, args, kwds):
        try:
            if name in ("accept_connection", "shutdown"):
                return "#RETURN", None
            assert name in self._server.public, "%r unrecognized" % name
            return "#RETURN", getattr(self._server, name)(self, *args, **kwds)
        except Exception:
            return "#TRACEBACK", format_exc()

    def _reply_with(self, message):
        self._reply = _ReplyPickler.dumps(message)


class _Exchange:
    """One request of a client, as the server sees its connection."""

    def __init__(self, connection):
        self.send, self._connection = connection._reply_with, connection

    def recv(self):
        request, self._connection._request = self._connection._request, None
        if request is None:
            raise EOFError
        return request

    def close(self):
        pass


def _connect(address, family=None, authkey=None):
    server = _processes.shared.get(address)
    if server is None:
        raise ConnectionRefusedError("there is no manager at this address")
    return _DirectConnection(server)


class _ServerProcess:
    """What a manager knows of the process of its server."""

    name, exitcode = "SyncManager", None

    def __init__(self, server):
        self._server, self.pid, self.ident = server, os.getpid(), os.getpid()

    def is_alive(self):
        return self._server is not None

    def join(self, timeout=None):
        self._server, self.exitcode = None, 0

    terminate = kill = close = join


def _start(self, initializer=None, initargs=()):
    """Spawn a server process for this manager object"""
    if self._state.value != State.INITIAL:
        if self._state.value == State.STARTED:
            raise ProcessError("Already started server")
        elif self._state.value == State.SHUTDOWN:
            raise ProcessError("Manager has shut down")
        else:
            raise ProcessError("Unknown state {!r}".format(self._state.value))
    if initializer is not None:
        if not callable(initializer):
            raise TypeError("initializer must be a callable")
        initializer(*initargs)
    server = self._Server(self._registry, self._address, self._authkey, self._serializer)
    server.stop_event = threading.Event()
    next(process._process_counter)  # a server is a process elsewhere
    self._process = _ServerProcess(server)
    self._address = server.address
    _processes.shared[server.address] = server
    self._state.value = State.STARTED
    self.shutdown = util.Finalize(
        self,
        type(self)._finalize_manager,
        args=(
            self._process,
            self._address,
            self._authkey,
            self._state,
            self._Client,
            self._shutdown_timeout,
        ),
        exitpriority=0,
    )


BaseManager.start = _start
listener_client["pickle"] = listener_client["xmlrpclib"] = (_Listener, _connect)
