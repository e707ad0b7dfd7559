import json

from tau_bench.envs.tool import Tool, describe

TODAY = "2025-03-10"


class PayFees(Tool):
    @staticmethod
    def invoke(data, member_id, amount):
        if member_id not in data["members"]:
            return "Error: there is no such member"
        member = data["members"][member_id]
        if not 0 < amount <= member["fees"]:
            return f"Error: the amount must be from 0.01 to {member['fees']:.2f}"
        member["fees"] = round(member["fees"] - amount, 2)
        member["payments"].append({"date": TODAY, "amount": amount})
        return json.dumps(member)

    @staticmethod
    def get_info():
        return describe(
            "pay_fees",
            "Take money from a member for what they owe.",
            member_id={"type": "string", "description": "The member's number, such as 'M01'."},
            amount={"type": "number", "description": "How much is paid, such as 1.5."},
        )
