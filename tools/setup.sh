#!/bin/sh
# Makes the virtual environment and installs the project with everything its tests use.
# usage: setup.sh PYTHON VENV
set -eu
python=$1
venv=$2

say() { printf 'soundstage: %s\n' "$*" >&2; }

command -v "$python" >/dev/null 2>&1 || python=python3
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    say "Python 3.11 or newer is needed; '$python' is $("$python" --version 2>&1 || echo missing)."
    say "Next step: install it, or name one: make PYTHON=/path/to/python3.12 test"
    exit 2
fi

if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    # Debian packs the venv module apart from Python.
    package="python$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv"
    say "'$python' has no venv module; installing $package"
    if [ "$(id -u)" = 0 ]; then run=""; elif sudo -n true 2>/dev/null; then run="sudo -n"; else
        say "Next step: sudo apt-get install $package"
        exit 2
    fi
    $run apt-get update -qq >/dev/null
    DEBIAN_FRONTEND=noninteractive $run apt-get install -y -qq --no-install-recommends "$package" >/dev/null
fi

[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
say "installing into $venv (the first time this takes a minute: the Claude Code CLI is large)"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
"$venv/bin/python" -m compileall -q src
