"""What a change of a spec does to the guarantee, the cost and the figures.

**When the guarantee weakens.** Any one of these makes a change weaker; nothing makes up for it:

- a figure of it grows: the epsilon or delta that a run is charged, its rho where the budget is one
  of rho, the cap of the dataset's epsilon or delta (no cap is the largest), or what a
  record-level table costs one unit;
- it is about something else: another unit or unit column (from one column to rows, or to another
  column), or other neighbours. From rows to the rows of a person it is stronger;
  rows without a unit, left out so far, make one unit more;
- it stands on a claim that is new, and that nobody can compute: keys that were private are
  declared public, or periods are declared disjoint;
- spending is added up elsewhere: another ledger or another name of the dataset, which knows
  nothing of what was spent before.

Bounds on a person's rows, bounds of columns, public keys and mechanisms change errors and costs,
not the guarantee: noise is as large as they ask for. They are told and weaken nothing.
"""
