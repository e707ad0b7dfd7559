"""Runs a query on databases and returns its rows. The query may only read."""

import sqlite3

MAX_ROWS = 1_000
MAX_STEPS = 2_000_000
READS = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}


def rows_of(database, query):
    connection = sqlite3.connect(":memory:")
    for statement, rows in database:
        if rows:
            connection.executemany(statement, rows)
        else:
            connection.execute(statement)
    connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in READS else sqlite3.SQLITE_DENY)
    steps = iter(range(MAX_STEPS // 1000))
    connection.set_progress_handler(lambda: next(steps, None) is None, 1000)
    try:
        return [list(row) for row in connection.execute(query).fetchmany(MAX_ROWS)]
    finally:
        connection.close()


def outcome(databases, query):
    try:
        return {"rows": [rows_of(database, query) for database in databases]}
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        return {"error": type(error).__name__}


outcome(databases, query)
