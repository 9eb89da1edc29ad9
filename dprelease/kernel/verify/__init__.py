"""Independent numbers that certify relies on: nothing here is shared with the planner."""
