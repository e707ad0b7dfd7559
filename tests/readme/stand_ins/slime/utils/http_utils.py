"""Replaces slime."""


async def post(url, payload):
    raise NotImplementedError
