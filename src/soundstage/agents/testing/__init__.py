"""Helpers for tests of apps: the journals of a run, suites for window and split policies. No app imports them."""

from soundstage.agents.testing._journals import journals_of
from soundstage.agents.testing._policy_suites import verify_split_policy, verify_window_policy

__all__ = ["journals_of", "verify_split_policy", "verify_window_policy"]
