"""`soundstage demo`: scenarios that show what the project is for. Each is an ordinary test body."""
