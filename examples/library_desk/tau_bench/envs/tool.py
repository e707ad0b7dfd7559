class Tool:
    """A tool of a domain: `invoke` works on the data and answers with text, `get_info` describes it."""

    @staticmethod
    def invoke(data, **kwargs):
        raise NotImplementedError

    @staticmethod
    def get_info():
        raise NotImplementedError


def describe(name, description, **parameters):
    """What `get_info` gives; a parameter is its JSON Schema, and all are required."""
    schema = {"type": "object", "properties": parameters, "required": list(parameters)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}
