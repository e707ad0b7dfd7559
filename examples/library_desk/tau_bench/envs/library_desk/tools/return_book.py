import json
from datetime import date

from tau_bench.envs.tool import Tool, describe

TODAY = date(2025, 3, 10)
FEE_PER_DAY = 0.25


class ReturnBook(Tool):
    @staticmethod
    def invoke(data, book_id):
        if book_id not in data["books"]:
            return "Error: there is no such book"
        book = data["books"][book_id]
        if book["loan"] is None:
            return "Error: the book is not lent"
        member = data["members"][book["loan"]["member_id"]]
        late_days = max(0, (TODAY - date.fromisoformat(book["loan"]["due"])).days)
        member["fees"] = round(member["fees"] + late_days * FEE_PER_DAY, 2)
        book["loan"] = None
        return json.dumps({"book_id": book_id, "late_days": late_days, "fees": member["fees"], "holds": book["holds"]})

    @staticmethod
    def get_info():
        return describe(
            "return_book",
            "Take a book back. A late one adds to the fees of the member who had it.",
            book_id={"type": "string", "description": "The copy's number, such as 'B101'."},
        )
