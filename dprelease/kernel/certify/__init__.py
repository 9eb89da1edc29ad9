"""What must hold of a plan: its meaning, what one unit can change, and what that costs."""
