"""The records of this package hold to the rules that users rely on."""

from __future__ import annotations

import pytest

from support.records import hold_to_the_rules_of_records, records_of

RECORDS = records_of("soundstage.models")


@pytest.mark.parametrize("cls", RECORDS, ids=[cls.__name__ for cls in RECORDS])
def test_a_record_is_frozen_its_fields_are_named_and_its_defaults_fit(cls):
    hold_to_the_rules_of_records(cls)


def test_there_are_records():
    assert len(RECORDS) > 5
