"""CEL, the expression language of policies, match conditions and custom kinds, with Kubernetes' libraries."""
