#!/bin/bash
set -euo pipefail

tr 'A-Z' 'a-z' < /app/notes.txt | tr -cs 'a-z' '\n' | grep . | sort | uniq -c | sort -k1,1nr -k2,2 | head -3 |
  awk '{ printf "{\"%s\": %d}\n", $2, $1 }' | jq -s add > /app/report.json
