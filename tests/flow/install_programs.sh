#!/bin/sh
# Has the pinned versions of the real programs in a folder; those that are there are not fetched again.
set -eu
folder=$1
wanted='@anthropic-ai/claude-code@2.1.325 @openai/codex@0.166.0 @google/gemini-cli@0.61.0 opencode-ai@1.18.33'
if [ "$(cat "$folder/wanted" 2>/dev/null)" = "$wanted" ]; then exit 0; fi
command -v npm >/dev/null || { echo "npm is needed to have the real programs; see 'make agents'" >&2; exit 1; }
mkdir -p "$folder"
# shellcheck disable=SC2086 # several words
npm install --prefix "$folder" --no-save --no-package-lock --no-audit --no-fund --loglevel=error $wanted
for program in claude codex gemini opencode; do "$folder/node_modules/.bin/$program" --version; done
printf '%s\n' "$wanted" >"$folder/wanted"
