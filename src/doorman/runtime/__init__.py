"""The composition root: builds a cluster out of all the parts, and drives it in real or in virtual time."""
