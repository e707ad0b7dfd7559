"""An MCP server of mcp 2.3.0 whose results JavaScript's MCP library refuses after the tool has run."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Annotated, Optional

from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel, Field

server = MCPServer("odd")
calls: list[str] = []


class Booking(BaseModel):
    at: datetime
    clock: time
    lasts: timedelta
    day: date
    price: Annotated[float, Field(multiple_of=0.01)]
    note: Optional[str] = None


class Mean(BaseModel):
    mean: float


@server.tool()
def book(phone: Annotated[str, Field(pattern=r"^\d{3}\-\d{4}$")], at: datetime, lasts: timedelta) -> Booking:
    """Books a table."""
    calls.append(phone)
    return Booking(at=at, clock=at.time(), lasts=lasts, day=at.date(), price=19.99)


@server.tool()
def mean() -> Mean:
    return Mean(mean=float("nan"))


@server.tool()
def count() -> int:
    return len(calls)


@server.tool()
def words() -> list[str]:
    return ["a", "b"]


@server.tool()
def find() -> str:
    raise KeyError("no such row")


if __name__ == "__main__":
    server.run(transport="stdio")
