class Tool:
    """Tool of a domain: `invoke` changes the data and returns text, `get_info` describes the tool."""

    @staticmethod
    def invoke(data, **kwargs):
        raise NotImplementedError

    @staticmethod
    def get_info():
        raise NotImplementedError


def describe(name, description, **parameters):
    """Returns the value of `get_info`. Each parameter is a JSON Schema, and all are required."""
    schema = {"type": "object", "properties": parameters, "required": list(parameters)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}
