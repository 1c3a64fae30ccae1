"""What one request may take and make, and what upstream allows. Every part that holds to such a bound reads it here.

A bound has its figure, its unit in its name, and Kubernetes' own figure in the text below it. What a request takes is
bounded before it is read; what it makes is bounded after defaulting, patching and copying, before it is stored.
"""

from typing import Final

# Bytes in

HEAD_BYTES_MAX: Final = 256 * 1024
"""Of a request line and its headers. Upstream: 1 MiB (Go's server)."""
URL_BYTES_MAX: Final = 64 * 1024
"""Upstream: part of the 1 MiB."""
QUERY_PARAMETERS_MAX: Final = 10_000
"""With more, none is read. Upstream: the same (Go's `urlmaxqueryparams`)."""
BODY_BYTES_MAX: Final = 3 * 1024 * 1024
"""Of a request's body: 413 beyond. Upstream: the same (`MaxRequestBodyBytes`)."""
ALL_BODIES_BYTES_MAX: Final = 512 * 1024 * 1024
"""Of the bodies of all requests that are not answered. Upstream: none but the count of requests."""
NESTING_MAX: Final = 200
"""How deep a document may be nested: 400 beyond. Upstream: 10,000 (its JSON decoder)."""
SCHEMA_DEPTH_MAX: Final = 64
"""Of objects and lists in the schema of a custom kind: 422 beyond. Upstream: none of its own."""
INTEGER_DIGITS_MAX: Final = 310
"""Of a number in a body: the most that a float can have. Upstream: as many as a float64 can hold."""

# What is made of it

PATCH_OPERATIONS_MAX: Final = 10_000
"""Of a JSON patch: 413 beyond. Upstream: the same (`maxJSONPatchOperations`)."""
PATCH_COPY_BYTES_MAX: Final = 3 * 1024 * 1024
"""Of all that one JSON patch copies: 422 beyond. Upstream: the same (`JSONPatchMaxCopyBytes`)."""
STORED_BYTES_MAX: Final = 1536 * 1024
"""Of an object as it is stored: 500 beyond, as upstream, whose etcd says so (`--max-request-bytes`: the same)."""
SENT_BYTES_MAX: Final = 2 * 1024 * 1024
"""Beyond this upstream's client of etcd refuses before etcd does, in other words."""
MADE_BYTES_MAX: Final = 16 * 1024 * 1024
"""Of what defaults make of an object before it is stored: no more is made. Upstream: none, but for memory."""

# Time

TURN_SECONDS_MAX: Final = 0.02
"""How long a request may hold the event loop; then it yields, or goes to a thread. Upstream: has threads."""
TURN_BYTES_MAX: Final = 64 * 1024
"""Of JSON: what works on more goes to a thread. Most documents of this size take a few milliseconds a step."""
YAML_WEIGHT: Final = 8
"""A byte of YAML takes as long as so many of JSON."""
CEL_COST_MAX: Final = 1_000_000
"""Of all expressions about one request together. Upstream: this of each (`PerCallLimit`), ten times as much of
all (`RuntimeCELCostBudget`).
"""

# What is said back

STRICT_FAULTS_MAX: Final = 100
"""Unknown and repeated fields that are told of. Upstream: the same (its strict JSON decoder)."""
WARNINGS_CHARACTERS_MAX: Final = 4 * 1024
"""Of all warnings of one answer; with more each is cut. Upstream: the same (`truncateAtTotalRunes`)."""
WARNING_CHARACTERS_MAX: Final = 256
"""Of one warning where all are too long together. Upstream: the same (`truncateItemRunes`)."""
