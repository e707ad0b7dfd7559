import json

from tau_bench.envs.tool import Tool, describe


class FindMember(Tool):
    @staticmethod
    def invoke(data, who):
        for member in data["members"].values():
            full_name = f"{member['name']['first']} {member['name']['last']}"
            if who in (member["member_id"], full_name):
                loans = [book["book_id"] for book in data["books"].values() if _has(book, member)]
                return json.dumps({**member, "loans": loans})
        return "Error: no member has this name or number"

    @staticmethod
    def get_info():
        return describe(
            "find_member",
            "Look a member up, with their fees, their payments and the books that they have.",
            who={"type": "string", "description": "The full name, such as 'Ada Fennimore', or the number, such as 'M01'."},
        )


def _has(book, member):
    return book["loan"] is not None and book["loan"]["member_id"] == member["member_id"]
