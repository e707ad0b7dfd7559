import builtins as _builtins


def llm_query(prompt):
    """Asks the model a question, with the text of the prompt alone, and returns its reply."""
    from paddock import tools

    return tools.llm_query(prompt=str(prompt))


def llm_query_batched(prompts):
    """Asks the model several questions at the same time, and returns its replies in their order."""
    from paddock import tools

    return tools.llm_query_batched(prompts=[str(prompt) for prompt in prompts])


def FINAL(value):
    """Gives the final answer and ends the episode."""
    import json

    from paddock import tools

    try:
        json.dumps(value, allow_nan=False)
        given = {"value": value}
    except (TypeError, ValueError, RecursionError):
        given = {}
    tools.final_answer(text=str(value), **given)
    raise SystemExit(0)


def FINAL_VAR(name):
    """Gives the value of the variable with this name as the final answer, and ends the episode."""
    if isinstance(name, str) and name.strip().strip("'\"") in globals():
        FINAL(globals()[name.strip().strip("'\"")])
    if isinstance(name, str):
        raise NameError(f"FINAL_VAR needs the name of a variable: there is no {name!r}")
    FINAL(name)


def SHOW_VARS():
    """Returns the names of your variables, with their types."""
    return {
        name: type(value).__name__
        for name, value in globals().items()
        if not name.startswith("_") and name not in _hidden and not _builtins.callable(value)
    }


_hidden = {"llm_query", "llm_query_batched", "FINAL", "FINAL_VAR", "SHOW_VARS"}
