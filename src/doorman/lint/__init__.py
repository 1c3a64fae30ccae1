"""Lint: rules that find tolerations, taints and budgets which do not do what they say.

Pure functions of documents. The one rule of matching is `semantics/taints/matching.py`, as everywhere.
"""
