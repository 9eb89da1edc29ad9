"""Planning: from a spec to sensitivities, noise and loss. No data is opened here.

Nobody trusts the planner: ``certify`` derives the loss again from what will be executed.
"""
