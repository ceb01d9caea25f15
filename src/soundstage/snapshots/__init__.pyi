from ._file import assert_snapshot as assert_snapshot
from ._file import check_snapshot as check_snapshot
from ._text import snapshot_text as snapshot_text
