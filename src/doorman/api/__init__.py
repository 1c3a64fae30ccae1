"""Kubernetes objects as data: views, codec, schema, selectors, quantities, patches. No behaviour, no input or output."""
