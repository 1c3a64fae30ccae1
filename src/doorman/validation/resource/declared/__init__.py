"""Checks that upstream declares with the types of the group, and what each version declares."""
