"""Usage that a script gives counts something: a count below zero would lower costs, and budgets would never end."""

from __future__ import annotations

import pytest

from soundstage.errors import WrongValueError
from soundstage.messages import Usage
from soundstage.models import Reply, Script


@pytest.mark.parametrize("field", Usage.__struct_fields__)
def test_a_count_of_tokens_below_zero_is_refused_however_the_reply_is_written(field):
    with pytest.raises(WrongValueError, match="no count is less than 0"):
        Script().on(user="hello").reply("hi", usage={field: -1})
    with pytest.raises(ValueError, match="no count is less than 0"):
        Reply(text="hi", usage=Usage(**{field: -1}))
    assert Reply(text="hi", usage=Usage(**{field: 0})).usage == Usage()
