"""Kinds that kubectl describes in a shape of their own, one family a module; `describers.py` lists them."""
