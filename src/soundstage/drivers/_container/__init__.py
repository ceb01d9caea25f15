"""Containers: the engine by its Docker API, programs in a container, services and whole compose files."""
