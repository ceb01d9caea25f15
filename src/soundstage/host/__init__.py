"""The host: one run with its journal, clock, model, worlds and daemons, as an async context manager."""

from soundstage.host._builder import HostBuilder
from soundstage.host._checks import check_end, list_rules
from soundstage.host._host import App, AppContext, Host
from soundstage.host._serve import ServeOptions, serve

__all__ = ["App", "AppContext", "Host", "HostBuilder", "ServeOptions", "check_end", "list_rules", "serve"]
