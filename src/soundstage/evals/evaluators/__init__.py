"""The built-in kinds of evaluators, by the names that suites in files use. `soundstage.evals` makes them."""
