"""Plans: what a taint, a drain or a lost zone will do, found out on a copy of the cluster in virtual time.

Nothing is decided here. The copy is run by the real scheduler, the real controllers and simulated nodes; this package
does the action, follows what happens, and tells it. `planner.plan` is the door.
"""
