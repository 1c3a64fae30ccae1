"""Resources and subresources with handlers of their own: scale, tokens, reviews, binding, eviction."""
