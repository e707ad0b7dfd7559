# Additions to `multiprocessing.resource_tracker`: nothing outlives the session.

def register(name, rtype):
    """Register name of resource with resource tracker."""


def unregister(name, rtype):
    """Unregister name of resource with resource tracker."""


def ensure_running():
    """Make sure that resource tracker process is running."""


def getfd():
    return -1
