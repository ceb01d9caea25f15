"""Functions as tools: the schema of their arguments from the signature, and arguments checked against a schema."""

from soundstage.tools._arguments import argument_problems
from soundstage.tools._function import DescribedFunction, describe_function, record_schema

__all__ = ["DescribedFunction", "argument_problems", "describe_function", "record_schema"]
