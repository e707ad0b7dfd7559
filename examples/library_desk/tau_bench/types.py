from typing import Any

from pydantic import BaseModel


class Action(BaseModel):
    name: str
    kwargs: dict[str, Any]


class Task(BaseModel):
    user_id: str
    instruction: str
    actions: list[Action]
    outputs: list[str]
