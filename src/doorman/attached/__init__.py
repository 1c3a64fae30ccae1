"""Components as processes of their own, against any API server: put together from the same parts as in process."""
