"""An orchestrator, an executor and a verifier: the orchestrator decides before every turn who works next."""
