import json

from tau_bench.envs.tool import Tool, describe


class FindBooks(Tool):
    @staticmethod
    def invoke(data, words):
        wanted = words.casefold()
        found = [book for book in data["books"].values() if wanted in f"{book['title']} {book['author']}".casefold()]
        return json.dumps(found) if found else "Error: no book has these words in its title or author"

    @staticmethod
    def get_info():
        return describe(
            "find_books",
            "Find the copies of a book, with who has them and until when.",
            words={"type": "string", "description": "A part of the title or of the author's name."},
        )
