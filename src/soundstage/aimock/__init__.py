"""Fixture files of aimock (`@copilotkit/aimock`) as scripts: a file with `fixtures` is a script wherever one is taken.

Nothing has to be imported: `soundstage serve --script fixtures.json` and `soundstage check` know such files.
"""

__all__: list[str] = []
