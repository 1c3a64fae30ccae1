"""Kubernetes objects as data: views, codec, schema, selectors, quantities, patches. No input or output."""
