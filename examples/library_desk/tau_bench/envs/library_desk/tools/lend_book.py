import json

from tau_bench.envs.tool import Tool, describe

DUE = "2025-03-31"
MAX_LOANS = 3
MAX_FEES = 5.0


class LendBook(Tool):
    @staticmethod
    def invoke(data, member_id, book_id):
        if member_id not in data["members"]:
            return "Error: there is no such member"
        if book_id not in data["books"]:
            return "Error: there is no such book"
        member, book = data["members"][member_id], data["books"][book_id]
        if book["kind"] == "reference":
            return "Error: a reference book stays in the house"
        if book["loan"] is not None:
            if member_id not in book["holds"]:
                book["holds"].append(member_id)
            return f"The book is lent until {book['loan']['due']}: it is now held for {member['name']['first']}"
        if member["fees"] > MAX_FEES:
            return f"Error: the member owes {member['fees']:.2f}"
        if sum(1 for other in data["books"].values() if (other["loan"] or {}).get("member_id") == member_id) >= MAX_LOANS:
            return f"Error: the member has {MAX_LOANS} books already"
        book["loan"] = {"member_id": member_id, "due": DUE}
        return json.dumps(book)

    @staticmethod
    def get_info():
        return describe(
            "lend_book",
            "Lend a copy to a member. One that is out is held for the member instead.",
            member_id={"type": "string", "description": "The member's number, such as 'M01'."},
            book_id={"type": "string", "description": "The copy's number, such as 'B101'."},
        )
