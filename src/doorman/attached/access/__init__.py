"""Rights and tokens of components that run by themselves, and of who asks them."""
