"""Client of Paddock, a sandbox for Python programs of language models.

    from paddock import Client

    with Client("http://127.0.0.1:8471").session() as session:
        print(session.exec("6 * 7").value)  # 42
"""

from .client import BatchOutcome, Client, ExecResult, GuestError, PaddockError, Score, Session

__all__ = ["BatchOutcome", "Client", "ExecResult", "GuestError", "PaddockError", "Score", "Session"]
