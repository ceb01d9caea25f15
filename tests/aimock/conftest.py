"""The fixtures of these tests."""

from support.asking import ask, request_of

__all__ = ["ask", "request_of"]
