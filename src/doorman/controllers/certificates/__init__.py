"""Controllers of certificates: requests are approved and signed, the root certificate is published."""
