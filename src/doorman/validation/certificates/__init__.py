"""Certificate requests, signers and trust bundles."""
