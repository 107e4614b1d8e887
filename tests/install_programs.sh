#!/bin/sh
# Has the real programs of program_rows.py in a folder, in the versions named there; those that are there are not fetched again.
set -eu
folder=$1
rows() { "${PYTHON:-python3}" "$(dirname "$0")/program_rows.py" "$1"; }
wanted=$(rows packages)
if [ "$(cat "$folder/wanted" 2>/dev/null)" = "$wanted" ]; then exit 0; fi
command -v npm >/dev/null || { echo "npm is needed to have the real programs; see 'make agents'" >&2; exit 1; }
mkdir -p "$folder"
# shellcheck disable=SC2086 # several words
npm install --prefix "$folder" --no-save --no-package-lock --no-audit --no-fund --loglevel=error $wanted
for program in $(rows commands); do "$folder/node_modules/.bin/$program" --version; done
printf '%s\n' "$wanted" >"$folder/wanted"
