#!/usr/bin/env bash
# tokenizers 0.23.3 (PyPI), the byte-level BPE of GPT-2, Llama 3 and Qwen.
#
# Guess: a token that add_tokens added as plain text decodes to that text, whatever letters it has.
# Seen: the ByteLevel decoder also decodes added tokens as if they were written in GPT-2's alphabet of bytes, where
# é is byte 233 and Ġ is the blank. A token with letters of Latin-1 is then no valid UTF-8, and its letters
# become U+FFFD; letters outside of that alphabet (here 日) survive.
#
#   text      decode(encode(text))
#   aéb       a\ufffdb
#   a<é>b     a<\ufffd>b
#   aĠxb      a xb
#   a日       a日
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tokenizers==0.23.3
"$folder/venv/bin/python" - <<'PYTHON'
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

tokenizer = Tokenizer(models.BPE(vocab={"a": 0, "b": 1}, merges=[]))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
tokenizer.add_tokens([AddedToken(text, normalized=False) for text in ("é", "<é>", "Ġx", "日")])
seen = {text: tokenizer.decode(tokenizer.encode(text).ids) for text in ("aéb", "a<é>b", "aĠxb", "a日")}
print(seen)
assert seen == {"aéb": "a\ufffdb", "a<é>b": "a<\ufffd>b", "aĠxb": "a xb", "a日": "a日"}, seen
PYTHON
