from tau_bench.envs.tool import Tool, describe


class CallLibrarian(Tool):
    @staticmethod
    def invoke(data, matter):
        return "A librarian is on the way"

    @staticmethod
    def get_info():
        return describe(
            "call_librarian",
            "Hand the member over to a librarian. The conversation at the desk is then over.",
            matter={"type": "string", "description": "What the member wants, in a sentence."},
        )
