"""The parts of a report: what each says is worded here, once."""
