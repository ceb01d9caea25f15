"""Other interpreters that make the runs of an eval: processes of this machine, and a cluster by Ray."""
