"""Writes what Python's tokenizers give for random texts and ids: tokenizer_oracle.py FOLDER CASES, one JSON object."""

import json
import random
import sys

from tokenizers import Tokenizer

PIECES = [
    "hello", " world", "\n", "\n\n", "  ", "\t", "é", "e\u0301", "\ufeff", "\u0085", "\u200b", "日本語", "👍🏽",
    "👨\u200d👩", "naïve", "12345", "3.14", "don't", "I'll", " ' ", " ?", " !", " ,", " .", "<", ">", "|", "{", "\u00a0",
    "\u3000", "ﬁ", "Å", "ａ", "\x00", "\x7f", "𝒳", "हिन्दी", "한국어", "\r\n", "_", "\u00ad", "</", "\\", '"', "\ue000",
    "Ǆ", "ß", "İ", "\u2028", "mask", "maskara", "hullo", "[x]", "unit", "word", "MASK",
]


def main() -> None:
    folder, cases = sys.argv[1], int(sys.argv[2])
    tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
    with open(f"{folder}/tokenizer.json", encoding="utf-8") as file:
        added = json.load(file)["added_tokens"]
    random.seed(7)
    texts = ["".join(piece(added) for _ in range(random.randint(0, 12))) for _ in range(cases)]
    size = tokenizer.get_vocab_size()
    bytes_ = [id for id in (tokenizer.token_to_id(f"<0x{byte:02X}>") for byte in range(256)) if id is not None]
    ids = [[token(added, bytes_, size) for _ in range(random.randint(1, 8))] for _ in range(cases)]
    if len(bytes_) == 256:
        ids += [[bytes_[0xEF], bytes_[0xBB], bytes_[0xBF]], [bytes_[0x41], bytes_[0xFF]]]
    encoded = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    decoded = [tokenizer.decode(list_, skip_special_tokens=False) for list_ in ids]
    print(json.dumps({"texts": texts, "encoded": encoded, "ids": ids, "decoded": decoded}))


def piece(added: list[dict]) -> str:
    kind = random.random()
    if kind < 0.7:
        return random.choice(PIECES)
    return random.choice(added)["content"] if kind < 0.9 else chr(random.randint(32, 0x2FFF))


def token(added: list[dict], bytes_: list[int], size: int) -> int:
    kind = random.random()
    if bytes_ and kind < 0.4:
        return random.choice(bytes_)
    return random.choice(added)["id"] if kind < 0.6 else random.randrange(size)


main()
